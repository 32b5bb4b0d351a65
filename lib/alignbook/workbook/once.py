"""An option that may be given twice only with one value."""

import argparse


class Once(argparse.Action):
    """Stores a value; a second one that differs is an error instead of the last word."""

    def __call__(self, parser, namespace, value, option_string=None):
        given = vars(namespace).setdefault("given", {})
        if given.setdefault(self.dest, value) != value:
            parser.error(
                f"argument {option_string}: {given[self.dest]} and {value} are both given, "
                "expected one of them"
            )
        setattr(namespace, self.dest, value)
