"""Keys change with what computes, not with words about it."""

import ast
import dataclasses
import json
import math
import time
from pathlib import Path

import pytest
from alignbook.store import fingerprint, home

FILES = {
    "__init__.py": "",
    "papers/__init__.py": "",
    "papers/own/__init__.py": "",
    "papers/own/model.py": '"""A paper."""\n'
    "from alignbook.core import losses\n"
    "from alignbook.show import tables\nfrom alignbook.deep.inner import f\n\n\n"
    'def g(x):\n    """Words."""\n    return losses.h(x) + f(x)  # a remark\n',
    "papers/own/show.py": "from alignbook.datasets import svo\n"
    "from alignbook.papers.own import model\n",
    "papers/other/__init__.py": "",
    "papers/other/model.py": "from alignbook.core import losses\n",
    "core/__init__.py": "",
    "core/losses.py": "def h(x):\n    from alignbook.core import late\n    return late.k(x)\n",
    "core/late.py": "import math\n\ndef k(x):\n    return math.sin(x)\n",
    "datasets/__init__.py": "",
    "datasets/svo.py": "PROBES = 1\n",
    "deep/__init__.py": "",
    "deep/inner.py": "from ..sibling import s\n\ndef f(x):\n    return s(x)\n",
    "sibling.py": "def s(x):\n    return -x\n",
    "show/__init__.py": "",
    "show/tables.py": "def show(x):\n    print(x)\n",
}
OWN = "alignbook.papers.own.model"


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A little package in the place of the real one, and a way to edit it."""
    folder = tmp_path / "alignbook"
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    monkeypatch.setattr(fingerprint, "PACKAGE", folder)
    monkeypatch.setattr(fingerprint, "KNOWN", tmp_path / "known/code.json")
    forget()
    yield folder
    forget()


def forget():
    """What a process has read is not what the next one has."""
    for kept in (fingerprint._read, fingerprint._looks, fingerprint.code_hash):
        kept.cache_clear()


def edited(package: Path, file: str, old: str, new: str) -> bool:
    """Whether the hash of the paper's code changes with an edit."""
    before = fingerprint.code_hash(OWN)
    text = (package / file).read_text()
    assert old in text
    (package / file).write_text(text.replace(old, new, 1))
    forget()
    return fingerprint.code_hash(OWN) != before


@pytest.mark.parametrize(
    "file, old, new",
    [
        ("papers/own/model.py", '"""A paper."""', '"""Another title."""'),
        ("papers/own/model.py", '"""A paper."""\n', ""),
        ("papers/own/model.py", '    """Words."""\n', ""),
        ("papers/own/model.py", "  # a remark", ""),
        ("papers/own/model.py", "losses.h(x) + f(x)", "(\n        losses.h( x ) +\n  f(x))"),
        ("core/late.py", "\ndef", '\n\n\n"""Words in between."""\ndef'),
        ("sibling.py", "def s(x):\n", 'def s(x):\n    """New words."""\n'),
        ("papers/other/model.py", "losses", "late"),
        ("papers/own/show.py", "svo", "svo as probes"),
        ("datasets/svo.py", "1", "2"),  # only the paper's tables read it
        ("show/tables.py", "print", "repr"),
    ],
)
def test_words_do_not_count(package, file, old, new):
    assert not edited(package, file, old, new)


@pytest.mark.parametrize(
    "file, old, new",
    [
        ("papers/own/model.py", "+ f(x)", "- f(x)"),
        ("core/losses.py", "late.k(x)", "late.k(x) + 0"),
        ("core/late.py", "sin", "cos"),  # imported inside a function
        ("deep/inner.py", "s(x)", "s(2 * x)"),  # from alignbook.deep.inner import f
        ("sibling.py", "-x", "+x"),  # from ..sibling import s
        ("deep/__init__.py", "", "import math\n"),  # runs when deep.inner is imported
        ("sibling.py", "def s(x)", "def s(x=1)"),
        ("sibling.py", "def s(x):\n", "@staticmethod\ndef s(x):\n"),
    ],
)
def test_code_counts(package, file, old, new):
    assert edited(package, file, old, new)


def test_follows_imports_but_not_to_presentation(package):
    behind = fingerprint.modules_behind("alignbook.papers.other.model")
    packages = ["alignbook.core", "alignbook.papers", "alignbook.papers.other"]
    assert behind == sorted(
        [*packages, "alignbook.core.late", "alignbook.core.losses", "alignbook.papers.other.model"]
    )
    assert "alignbook.show.tables" in fingerprint.modules_behind("alignbook.show.tables")


MODELS = sorted((fingerprint.PACKAGE / "papers").glob("*/model.py"))
COMPUTING = [
    path
    for path in sorted((fingerprint.PACKAGE / "papers").rglob("*.py"))
    if "    def compute(self" in path.read_text(encoding="utf-8")
]
BACKBONES = sorted((fingerprint.PACKAGE / "backbones").glob("[!_]*.py"))


@pytest.mark.parametrize("path", [*MODELS, *BACKBONES], ids=lambda path: "/".join(path.parts[-2:]))
def test_no_reader_of_probes_is_behind_what_trains(path):
    """An edit of them, of a writer of the gold, or of another paper retrains nothing."""
    module = path.relative_to(fingerprint.PACKAGE.parent).with_suffix("").as_posix()
    behind = fingerprint.modules_behind(module.replace("/", "."))
    others = ("svo", "aro", "sugarcrepe", "visual_genome", "karpathy", "flickr8k", "gold")
    assert not {f"alignbook.datasets.{name}" for name in others} & {*behind}
    papers = {name.split(".")[2] for name in behind if name.count(".") > 1 and ".papers." in name}
    assert papers <= {path.parent.name}
    assert module.replace("/", ".") in behind


@pytest.mark.parametrize("path", COMPUTING, ids=lambda path: "/".join(path.parts[-2:]))
def test_what_trains_imports_nothing_that_lists_or_shows(path):
    """So an edit of a chapter's catalogue, tables or figures retrains nothing."""
    module = path.relative_to(fingerprint.PACKAGE.parent).with_suffix("").as_posix()
    behind = fingerprint.modules_behind(module.replace("/", "."))
    own = {name.split(".")[3] for name in behind if ".papers." in name and name.count(".") > 2}
    shown = {"arms", "catalogue", "cost", "hours", "printed", "settings", "show"}
    drawn = {"epochs", "found_answers", "found_noise", "label_drawing", "pipeline_drawing", "times"}
    assert own and not own & (shown | drawn)


def test_unknown_module_is_refused(package):
    with pytest.raises(ModuleNotFoundError, match="alignbook.nowhere"):
        fingerprint.code_hash("alignbook.nowhere")


def test_function_of_words_alone_still_parses(package):
    (package / "papers/own/model.py").write_text('def g():\n    """Only words."""\n')
    assert fingerprint.code_hash(OWN)


@dataclasses.dataclass(frozen=True)
class Left:
    rate: float = 0.5


@dataclasses.dataclass(frozen=True)
class Right:
    rate: float = 0.5


def test_key_is_canonical():
    assert fingerprint.key({"b": [1, 2], "a": None}) == fingerprint.key({"a": None, "b": (1, 2)})
    assert fingerprint.key(Left()) == fingerprint.key(Left(0.5))
    assert len(fingerprint.key()) == 16


@pytest.mark.parametrize(
    "one, other",
    [
        ((Left(),), (Right(),)),
        ((Left(),), (Left(0.25),)),
        (("a", "b"), ("ab",)),
        ((1,), (1.0,)),
        ((1,), (True,)),
        ((1,), ("1",)),
        (([1], [2]), ([1, 2],)),
    ],
)
def test_key_tells_apart(one, other):
    assert fingerprint.key(*one) != fingerprint.key(*other)


@pytest.mark.parametrize("part", [Path("a"), {1: 2}, {1, 2}, object(), Left])
def test_key_refuses_what_has_no_plain_value(part):
    with pytest.raises(TypeError):
        fingerprint.key([part])


def test_key_refuses_numbers_that_are_none():
    with pytest.raises(ValueError):
        fingerprint.key(math.nan)


def test_every_version_of_python_writes_a_tree_the_same():
    """What ast.unparse and ast.dump write depends on the version; a store moves between them."""
    source = 'def f(a, *, b=(1, 2)) -> int:\n    return f"{a!r:>{b}}" + "it\'s" if a else -0.5\n'
    assert fingerprint._written(ast.parse(source), []) == (
        "Module(body=[FunctionDef(args=arguments(args=[arg(arg='a')],kw_defaults=[Tuple("
        "ctx=Load(),elts=[Constant(value=1),Constant(value=2)])],kwonlyargs=[arg(arg='b')]),"
        "body=[Return(value=IfExp(body=BinOp(left=JoinedStr(values=[FormattedValue(conversion=114,"
        "format_spec=JoinedStr(values=[Constant(value='>'),FormattedValue(conversion=-1,"
        "value=Name(ctx=Load(),id='b'))]),value=Name(ctx=Load(),id='a'))]),op=Add(),"
        'right=Constant(value="it\'s")),orelse=UnaryOp(op=USub(),operand=Constant(value=0.5)),'
        "test=Name(ctx=Load(),id='a')))],name='f',returns=Name(ctx=Load(),id='int'))])"
    )


@pytest.mark.parametrize(
    "words, without",
    [
        ('"""Said."""\nx = 1\n', "x = 1\n"),
        ('def f():\n    """Said."""\n', "def f():\n    pass\n"),
        ('if a:\n    b\nelse:\n    "said"\n', "if a:\n    b\n"),
        ("try:\n    a\nfinally:\n    b\n    'said'\n", "try:\n    a\nfinally:\n    b\n"),
    ],
)
def test_words_are_neither_written_nor_named(words, without):
    nodes = []
    assert fingerprint._written(ast.parse(words), nodes) == fingerprint._written(
        ast.parse(without), []
    )
    assert not [each for each in nodes if isinstance(each, ast.Constant) and each.value != 1]
    assert fingerprint._written(ast.parse('"said"'), []) == "Module()"


@pytest.fixture
def later(monkeypatch):
    """Some seconds have passed since the package was written."""
    now = time.time() + 60
    monkeypatch.setattr(fingerprint.time, "time", lambda: now)


def kept() -> dict[str, str]:
    """The hashes that the next process finds."""
    if not fingerprint.KNOWN.exists():
        return {}
    (found,) = json.loads(fingerprint.KNOWN.read_text()).values()
    return found


def test_a_hash_is_made_once_for_all_processes(package, later, monkeypatch):
    first, other = fingerprint.code_hash(OWN), "alignbook.core.losses"
    fingerprint.code_hash(other)
    assert kept() == {OWN: first, other: fingerprint.code_hash(other)}
    forget()
    with monkeypatch.context() as patch:
        patch.setattr(fingerprint, "modules_behind", None)  # nothing is read
        assert fingerprint.code_hash(OWN) == first


@pytest.mark.parametrize("file", ("core/late.py", "show/tables.py", "new.yaml"))
def test_and_anew_when_any_file_of_the_package_has_changed(package, later, file):
    fingerprint.code_hash(OWN)
    fingerprint.KNOWN.write_text(fingerprint.KNOWN.read_text().replace(kept()[OWN], "old"))
    forget()
    assert fingerprint.code_hash(OWN) == "old"
    (package / file).write_text("y = 1\n")
    forget()
    assert fingerprint.code_hash(OWN) != "old" and kept()[OWN] == fingerprint.code_hash(OWN)


def test_a_hash_is_not_kept_of_what_may_change_without_a_sign(package):
    fingerprint.code_hash(OWN)  # the package has just been written
    assert kept() == {}


def test_nor_of_what_changed_meanwhile(package, later, monkeypatch):
    """A process holds the code of its beginning: what it reads later may be another's."""
    fingerprint.code_hash("alignbook.core.late")
    (package / "core/losses.py").write_text("def h(x):\n    return 2 * x\n")
    fingerprint.code_hash(OWN)
    assert [*kept()] == ["alignbook.core.late"]


def test_nor_of_another_choice_of_modules(package, later):
    every = fingerprint.code_hash(OWN, counts=lambda module: True)
    assert kept() == {} and fingerprint.code_hash(OWN) != every
    forget()
    assert fingerprint.code_hash(OWN, counts=lambda module: True) == every


def test_all_that_is_imported_is_kept_by_a_name_of_its_own(package, later, monkeypatch):
    every, trained = fingerprint.code_hash(OWN, counts=bool), fingerprint.code_hash(OWN)
    assert every != trained and sorted(kept().values()) == sorted([every, trained])
    forget()
    monkeypatch.setattr(fingerprint, "modules_behind", None)  # nothing is read
    assert (fingerprint.code_hash(OWN), fingerprint.code_hash(OWN, counts=bool)) == (trained, every)


def test_without_a_place_to_keep_it_a_hash_is_the_same(package, later, monkeypatch):
    first = fingerprint.code_hash(OWN)
    forget()
    monkeypatch.setattr(fingerprint, "KNOWN", home.Unnamed("code.json"))
    assert fingerprint.code_hash(OWN) == first


def test_what_trains_depends_on_no_printed_number():
    """Its strings name the files that it reads, not the papers whose tables lie beside it."""
    for paper in ("chan", "comalign", "covalign", "gsl"):
        for module in fingerprint.modules_behind(f"alignbook.papers.{paper}.model"):
            named = fingerprint._read(module)[0]
            assert "\npapers/" not in named and "explorer.js" not in named, module
    assert "world-clip.json" in fingerprint._read("alignbook.backbones.towers")[0]


def test_bytecode_that_another_process_is_writing_is_not_looked_at(package):
    """It is renamed or gone before it could be read."""
    before = fingerprint._look(), fingerprint._not_python(package)
    unfinished = package / "core/__pycache__/losses.cpython-311.pyc.140388795999568"
    unfinished.parent.mkdir()
    unfinished.write_bytes(b"half")
    fingerprint._not_python.cache_clear()
    assert (fingerprint._look(), fingerprint._not_python(package)) == before
