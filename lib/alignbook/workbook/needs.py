"""The paper profile's list: what each notebook needs of the papers' data and weights, and its cost.

``./run_all.sh --profile paper --dry-run`` prints it: what is there, what is missing, where that is
usually had and where to put it. Without --dry-run the run starts if nothing is missing, and
otherwise stops with the same list.

resources.yaml, here and in each paper's room, holds what there is to bring and what each notebook
takes of it; `plan` reckons what its exhibits cost. Nothing heavy is imported: the list stands within
a second, unless there are weights to look into.
"""

import dataclasses
import textwrap
from dataclasses import dataclass
from pathlib import Path

import yaml

from alignbook import ROOT
from alignbook.store import durable
from alignbook.workbook import exhibits, first, profiles
from alignbook.workbook.downloads import Source
from alignbook.workbook.plan import Made, add, cost, hours
from alignbook.workbook.profiles import Profile

WIDTH = 100
THERE, MISSING, OPEN = "✓", "✗", "–"


@dataclass(frozen=True)
class File:
    """A file of a resource, or a folder ("name/"); ``name`` may list alternatives: "a|b".

    ``size`` are the bytes expected, about; a file below ``least`` is cut short.
    """

    name: str
    size: float
    least: float = 1


@dataclass(frozen=True)
class Resource:
    """Something a person brings.

    ``folder`` lies below data/ unless --data names another; ``weights`` is the spec of a
    pretrained model that lies there (`alignbook.backbones.pretrained`). ``sources`` are what
    ``./run_all.sh fetch`` can bring of it, under this ``licence``.
    """

    what: str
    folder: str
    files: tuple[File, ...]
    where: str
    weights: str = ""
    licence: str = ""
    sources: tuple[Source, ...] = ()


@dataclass(frozen=True)
class Needs:
    """What a notebook takes: its paper's data set ("" for none), what else, and what it may use.

    ``also``: what the paper has for it besides.
    ``pictures``: it looks at photographs, so that --data with features alone can't stand in.
    ``settings`` are the fields of the profile that matter to it.
    """

    data: str = ""
    others: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    pictures: bool = False
    settings: tuple[str, ...] = ()

    @property
    def named(self) -> tuple[str, ...]:
        """All resources that are for it."""
        return (self.data, *self.others, *self.optional, *self.also)


# --- The table ----------------------------------------------------------------------------------

UNITS = {"B": 1, "KB": 1e3, "MB": 1e6, "GB": 1e9}
REGIONS, FEATURE = 36, 2048  # boxes an image, numbers a box
HEADER = 128  # bytes before the numbers of a .npy file


def file_of(told: list | dict) -> File:
    """A file as resources.yaml tells of it.

    >>> file_of(["train_caps.txt", "31 MB", "20 MB"])
    File(name='train_caps.txt', size=31000000.0, least=20000000.0)
    >>> amount(file_of({"regions": "train", "images": 113287}).size)
    '33.4 GB'
    """
    if isinstance(told, list):
        name, *amounts = told
        return File(name, *map(octets_in, amounts))
    if "regions" in told:
        size, least = (
            HEADER + images * REGIONS * FEATURE * 4
            for images in (told["images"], told.get("least", told["images"]))
        )
        return File(f"{told['regions']}_ims.npy", size, least)
    size = HEADER + told["rows"] * 8
    return File(f"{told['noise']}.npy", size, size)


def source_of(told: dict) -> Source:
    """Where a file is had, as resources.yaml tells of it.

    >>> source_of({"hub": "a/b", "file": "c.bin", "size": "2 KB"}).place
    'a/b/c.bin on the model hub'
    """
    lists = {name: tuple(value) for name, value in told.items() if isinstance(value, list)}
    return Source(**told | lists | {"size": octets_in(told["size"])})


def octets_in(text: str) -> float:
    """An amount of bytes that was written for reading.

    >>> octets_in("0.2 KB"), octets_in("31 MB")
    (200.0, 31000000.0)
    """
    number, unit = text.split()
    return float(number) * UNITS[unit]


def _table() -> tuple[dict[str, Resource], dict[str, Needs]]:
    """What each resources.yaml says: what there is to bring, and what each notebook takes."""
    told: dict[str, dict] = {"resources": {}, "notebooks": {}}
    for module in (__file__, *(each.__file__ for each in exhibits.CATALOGUES)):
        text = Path(module).with_name("resources.yaml").read_text(encoding="utf-8")
        for part, own in yaml.safe_load(text).items():
            told[part] |= own
    resources = {
        name: Resource(
            what=each["what"],
            folder=each["folder"],
            files=tuple(map(file_of, each["files"])),
            where=each["where"],
            weights=each.get("weights", ""),
            licence=each.get("licence", ""),
            sources=tuple(map(source_of, each.get("fetch", ()))),
        )
        for name, each in told["resources"].items()
    }
    notebooks = {
        name: Needs(**{k: tuple(v) if isinstance(v, list) else v for k, v in each.items()})
        for name, each in sorted(told["notebooks"].items())
    }
    return resources, notebooks


RESOURCES, NOTEBOOKS = _table()


# --- What is there -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Found:
    """A resource as it lies here: its folder, each file with what is wrong with it (or "")."""

    resource: Resource
    folder: Path
    files: tuple[tuple[File, str], ...]
    problems: tuple[str, ...] = ()

    @property
    def ready(self) -> bool:
        return not self.problems and not any(wrong for _, wrong in self.files)

    @property
    def missing(self) -> float:
        """Bytes to come."""
        return sum(file.size for file, wrong in self.files if wrong)


def look(name: str, folder: Path | None = None) -> Found:
    """Look whether a resource is there and whole.

    Parameters
    ----------
    name : str
        One of `RESOURCES`, or another data set of `by_name.NAMES`.
    folder : Path, optional
        Where it lies; below data/ of the project unless told.

    Returns
    -------
    Found
        The sizes of files are checked. Only where all are there are a data set's captions and
        features, or a model's settings, read as well.
    """
    known = RESOURCES.get(name) or Resource("a data set of your own", name, (), "")
    folder = folder or ROOT / "data" / known.folder
    files = tuple((file, _wrong(folder, file)) for file in known.files)
    if any(wrong for _, wrong in files):
        return Found(known, folder, files)
    return Found(known, folder, files, tuple(_problems(name, known, folder)))


def _wrong(folder: Path, file: File) -> str:
    """What is wrong with a file, "" if nothing is."""
    for name in file.name.split("|"):
        path = folder / name
        if name.endswith("/"):
            if path.is_dir():
                return "" if next(path.iterdir(), None) else "empty folder"
        elif path.is_file():
            size = path.stat().st_size
            return "" if size >= file.least else f"cut short: {amount(size)} there"
    return "missing"


def _problems(name: str, known: Resource, folder: Path) -> list[str]:
    from alignbook.datasets import by_name

    if known.weights:
        from alignbook.backbones import pretrained  # 4 s, only where the weights are there

        return pretrained.problems(known.weights.format(folder=folder))
    return by_name.check(f"{name}={folder}") if name in by_name.NAMES else []


# --- The list ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Plan:
    """What the chosen notebooks need: the list as text, the data a run takes, None if it can't."""

    text: str
    data: str | None


def plan(notebooks: list[str], data: str = "world", overrides: dict | None = None) -> Plan:
    """Look at all that some notebooks need in the paper profile.

    Parameters
    ----------
    notebooks : names of `exhibits.NOTEBOOKS`.
    data : "coco_precomp=DIR" and the like as given by --data; "world" means that none was given.
    overrides : settings given by --set.

    Raises
    ------
    ValueError
        An unknown data set, or settings that `profiles.get` refuses.
    """
    from alignbook.datasets import by_name

    given, folder = by_name.parse(data)
    folders = {given: folder.resolve()} if folder else {}
    kinds = {name: _data_of(name, given) for name in notebooks}
    needed = {
        name: [*([kinds[name]] if NOTEBOOKS[name].data else []), *NOTEBOOKS[name].others]
        for name in notebooks
    }
    wanted = [each for name in notebooks for each in [*needed[name], *NOTEBOOKS[name].optional]]
    found = {name: look(name, folders.get(name)) for name in dict.fromkeys([*wanted, *RESOURCES])}

    used = {
        each: [n for n in notebooks if each in (*needed[n], *NOTEBOOKS[n].optional)]
        + [name for name, needs in NOTEBOOKS.items() if each in needs.named]
        for each in found
    }
    used = {each: list(dict.fromkeys(names)) for each, names in used.items()}
    lines, made = ["paper profile: the papers' settings on the papers' data", ""], {}
    for name in notebooks:
        profile = profiles.get("paper", kinds[name], overrides)
        lines += [*_notebook(name, needed[name], found, profile, made, kinds[name]), ""]
    lines += [*first.said(made), ""] if made else []
    lines += ["what these need:"]
    for name in dict.fromkeys(wanted):
        lines += _resource(name, found[name], used[name], given)
    rest = [name for name in RESOURCES if name not in wanted]
    lines += ["", "what other exhibits of the four papers need, now or in chapters to come:"]
    for name in rest:
        lines += _resource(name, found[name], used[name], given, short=True)
    required = dict.fromkeys(each for name in notebooks for each in needed[name])
    missing = sum(found[name].missing for name in required)
    everything = sum(each.missing for each in found.values())
    lines += [
        "",
        f"missing: {amount(missing)} for these notebooks, {amount(everything)} for all "
        f"four papers; cost: about {sum(hours(each.new) for each in made.values()):.0f} GPU hours",
    ]

    data = {name: kind for name, kind in kinds.items() if NOTEBOOKS[name].data}
    ready = all(found[each].ready for each in required)
    told, kind = _start_on(data, ready)
    return Plan("\n".join([*lines, *told]), f"{kind}={found[kind].folder}" if kind else None)


def _start_on(data: dict[str, str], ready: bool) -> tuple[list[str], str]:
    """What to say of notebooks' data sets, and the one that a run takes; "" if it cannot start."""
    if not data:
        words = "They need no data and are the same in every profile: start them without this one."
        return [words], ""
    if ready and len(set(data.values())) > 1:
        each = ", ".join(f"{name}: {kind}" for name, kind in data.items())
        words = f"They take different data: start them one by one, with --data ({each})."
        return _wrapped("", words), ""
    return [], next(iter(data.values())) if ready else ""


def _data_of(notebook: str, given: str) -> str:
    """The data set a notebook runs on: the one given, unless it lacks the pictures needed."""
    needs = NOTEBOOKS[notebook]
    without = needs.pictures and given.endswith("precomp")
    return (needs.data or "coco_precomp") if given == "world" or without else given


def _notebook(
    name: str,
    needed: list[str],
    found: dict[str, Found],
    profile: Profile,
    made: dict[str, Made],
    data: str,
) -> list[str]:
    """A notebook's lines; an exhibit that is `made` already costs nothing more."""
    needs = NOTEBOOKS[name]
    lacking = [each for each in needed if not found[each].ready]
    state = f"{MISSING} {', '.join(lacking)} missing" if lacking else f"{THERE} ready"
    lines = [f"{name:{max(len(name) + 1, WIDTH - len(state))}}{state}"]
    lines += _wrapped("  needs     ", ", ".join(f"{_mark(found[each])} {each}" for each in needed))
    if needs.optional:
        told = ", ".join(f"{_mark(found[each], OPEN)} {each}" for each in needs.optional)
        lines += _wrapped("  may use   ", f"{told} (runs without)")
    if needs.settings:
        values = dataclasses.asdict(profile)
        told = " ".join(f"{field}={values[field]}" for field in needs.settings)
        lines += _wrapped("  settings  ", told)
    new = _put(name, data, profile, made)
    for exhibit in new:
        lines += _wrapped("  cost      ", cost(exhibit, made[exhibit]))
    if not any(made[exhibit].new for exhibit in new):
        lines += _wrapped("  cost      ", "minutes on a GPU: nothing is trained")
    return lines


def _put(name: str, data: str, profile: Profile, made: dict[str, Made]) -> list[str]:
    """Put a notebook's exhibits on some data into a plan; those that were not there."""
    book = exhibits.NOTEBOOKS[name]
    shown = [each for each in book.exhibits + book.reads if each not in made]
    new = [each for each in shown if exhibits.arms(each, data)]
    for exhibit in new:
        add(exhibit, data, profile, made)
    return new


def _resource(name: str, found: Found, used: list[str], given: str, short=False) -> list[str]:
    """Lines on one resource; a short one names its files only together."""
    known = found.resource
    total = amount(sum(file.size for file in known.files)) if known.files else ""
    title = f"{_mark(found)} {name:14}{known.what}"
    lines = [f"{title:{WIDTH - 10}}{total:>10}"]
    indent = " " * 16
    if not short:
        lines += _wrapped(indent, f"for {', '.join(used)}")
    for problem in found.problems:
        lines += _wrapped(indent, problem)
    wrong = [(file, why) for file, why in found.files if why]
    if wrong and short:
        lines += _wrapped(indent, f"for {', '.join(used)}")
    elif wrong:
        for file, why in found.files:
            shown = file.name.replace("|", " or ")
            mark, told = (MISSING, f", {why}") if why else (THERE, "")
            lines += _wrapped(indent + f"{mark} ", f"{shown}, {amount(file.size)}{told}")
    if wrong:
        from alignbook.datasets import by_name

        choice = f", or give --data {name}=DIR" if name in by_name.NAMES else ""
        place = known.folder if found.folder == ROOT / "data" / known.folder else found.folder
        place = f"data/{place}/" if place == known.folder else f"{place}/"
        fetched = f"./run_all.sh fetch {name}, or by hand: " if known.sources else ""
        lines += _wrapped(indent, f"{fetched}put into {place}{choice}; usually had: {known.where}")
    return lines


def _mark(found: Found, missing: str = MISSING) -> str:
    return THERE if found.ready else missing


def _wrapped(indent: str, words: str) -> list[str]:
    """Words in lines of at most 100 columns, the following ones below the first."""
    return textwrap.wrap(
        words,
        WIDTH,
        initial_indent=indent,
        subsequent_indent=" " * len(indent),
        break_long_words=False,
        break_on_hyphens=False,
    )


def amount(octets: float) -> str:
    """Bytes for reading.

    >>> amount(33.41e9), amount(605e6), amount(1234), amount(0)
    ('33.4 GB', '605 MB', '1 KB', '0 KB')
    """
    for unit, digits in (("GB", 1), ("MB", 0)):
        if octets >= UNITS[unit]:
            return f"{octets / UNITS[unit]:.{digits}f} {unit}"
    return f"{octets / UNITS['KB']:.0f} KB"


def costed(notebooks: list[str], data: str = "world") -> dict[str, Made]:
    """What the exhibits of some notebooks cost in the paper profile."""
    made: dict[str, Made] = {}
    for name in notebooks:
        kind = _data_of(name, data)
        _put(name, kind, profiles.get("paper", kind), made)
    return made


if __name__ == "__main__":
    page = ROOT / "docs/at-scale.md"
    lines = first.said(costed(list(NOTEBOOKS)))
    durable.write(page, first.renewed(page.read_text(encoding="utf-8"), lines))
