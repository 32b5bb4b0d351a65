"""The library's own source, as a notebook shows it."""

import pytest
from alignbook.show import source
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output


@pytest.fixture
def shell():
    """What a notebook's cells run in."""
    yield InteractiveShell.instance()
    InteractiveShell.clear_instance()


def test_source_is_shown_for_the_screen_and_says_where_it_stands(shell):
    with capture_output() as told:
        source.show(source.of)
    (shown,) = told.outputs
    assert set(shown.data) == {"text/html", "text/plain"}
    place, first, *_ = shown.data["text/plain"].splitlines()
    assert place.startswith("# lib/alignbook/show/source.py, line ")
    assert first == "def of(thing) -> str:"
    assert "Examples" not in shown.data["text/plain"]
