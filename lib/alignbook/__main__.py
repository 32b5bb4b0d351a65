"""``python -m alignbook``, to which ``./run_all.sh`` hands over."""

import sys

from alignbook.workbook import command

if __name__ == "__main__":
    sys.exit(command.main(sys.argv[1:]))
