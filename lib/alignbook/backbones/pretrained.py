"""Pretrained base models for those who have the weights; nothing is ever downloaded.

Weights alone are no model: with another activation, tokenizer or preprocessing they still give
embeddings, only worse ones. So weights, architecture, activation, tokenizer, context length and
preprocessing are one object here, and what doesn't fit together is refused. Four forms:

- ``openclip:NAME/TAG``: a release of open_clip's registry, its file in data/weights;
- ``openclip:FOLDER``: open_clip_config.json and weights, as open_clip's hub repositories have them;
- ``checkpoint:FILE``: a training checkpoint of open_clip; FILE.json beside it says the rest;
- ``huggingface:FOLDER``: a CLIPModel of transformers with its tokenizer and preprocessor.
"""

import hashlib
import json
import math
import os
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import torch
from torch import nn

from alignbook.backbones import weight_files
from alignbook.backbones.clip_models import HuggingFaceModel, OpenCLIPModel, Pretrained, Tokenizer
from alignbook.backbones.weight_files import BELONGS, json_object
from alignbook.datasets.files import octets_of
from alignbook.errors import DataError
from alignbook.store import contents, durable

_SIDECAR = (
    "python -c \"import json, open_clip as o; json.dump({{'model_cfg': {{**o.get_model_config("
    "'ViT-B-32'), 'quick_gelu': True}}, 'preprocess_cfg': {{'mean': o.OPENAI_DATASET_MEAN, 'std': "
    "o.OPENAI_DATASET_STD}}}}, open({name!r}, 'w'))\" writes it for a ViT-B-32 trained from "
    "OpenAI's: put the name, activation, mean and std of your model"
)


def parse(spec: str) -> "Source":
    """Where the parts of a pretrained model lie; none of them is opened.

    Raises
    ------
    DataError
        Not one of the four forms, or a name or tag that open_clip's registry doesn't have.

    >>> parse("openclip:ViT-B-32-quickgelu/openai").files[0].name
    'ViT-B-32-quickgelu-openai.safetensors'
    """
    import open_clip

    form, _, rest = spec.partition(":")
    place, (name, _, tag) = Path(rest).expanduser(), rest.partition("/")
    if form == "openclip" and tag and name in open_clip.list_models():
        return _released(spec, name, tag)
    if form == "openclip" and rest and place.is_dir():
        files = place / "open_clip_model.safetensors", place / "open_clip_pytorch_model.bin"
        had = "the file beside open_clip_config.json in the release on the model hub"
        return Source(spec, form, place, place / "open_clip_config.json", files, had)
    if form == "checkpoint" and rest:
        had = "the checkpoint its authors give, such as NegCLIP's (with the optimizer's state: x3)"
        return Source(spec, form, place, Path(f"{place}.json"), (place,), had)
    if form == "huggingface" and rest:
        files = place / "model.safetensors", place / "pytorch_model.bin"
        had = "the one file beside config.json in the release on the model hub"
        return Source(spec, form, place, place / "config.json", files, had)
    raise DataError(
        f"base model {spec!r}: expected openclip:NAME/TAG of open_clip's registry (such as "
        "openclip:ViT-B-32-quickgelu/openai), openclip:FOLDER (a folder that is there), "
        "checkpoint:FILE or huggingface:FOLDER"
    )


def _released(spec: str, name: str, tag: str) -> "Source":
    from huggingface_hub import try_to_load_from_cache
    from open_clip import constants, pretrained

    known = pretrained.list_pretrained_tags_by_model(name)
    plain = name.removesuffix("-quickgelu")  # has the tags trained with gelu
    if tag not in known and tag not in pretrained.list_pretrained_tags_by_model(plain):
        raise DataError(
            f"base model {spec!r}: {name} has no tag {tag!r}; expected one of {', '.join(known)}"
        )
    release = pretrained.get_pretrained_cfg(plain, tag) or pretrained.get_pretrained_cfg(name, tag)
    hub, _, file = release["hf_hub"].rpartition("/")
    names = [file] if file else [constants.HF_SAFE_WEIGHTS_NAME, constants.HF_WEIGHTS_NAME]
    cached = [try_to_load_from_cache(hub, each) for each in names if hub]
    files = [
        weight_files.WEIGHTS / f"{name}-{tag}{suffix}" for suffix in (".safetensors", ".pt", ".bin")
    ]
    files += [Path(path) for path in cached if isinstance(path, str)]
    had = f"{tag!r} of {name} in the open_clip release on the model hub (repository {hub})"
    where = f"open_clip's {name}"
    return Source(spec, "registry", weight_files.WEIGHTS, where, tuple(files), had, name, release)


def problems(spec: str) -> list[str]:
    """What stands in the way of a pretrained model, a sentence each; no weights are loaded."""
    found = {}  # in order, each once: a part that needs another repeats its sentence
    try:
        source = parse(spec)
    except DataError as error:
        return [str(error)]
    for part in ("settings", "activation", "weights", "tokenizer", "transform", "header"):
        try:
            getattr(source, part)
        except DataError as error:
            found[str(error)] = part
    return list(found)


def load(spec: str, device: str = "cpu") -> Pretrained:
    """A pretrained model, frozen, in float32.

    Raises
    ------
    DataError
        The first of `problems`, or weights that are damaged, not finite or of another model.
    """
    for problem in problems(spec):
        raise DataError(problem)
    source = parse(spec)
    kind = HuggingFaceModel if source.form == "huggingface" else OpenCLIPModel
    return kind(source).to(device)


def fingerprint(spec: str) -> str:
    """16 hex digits of all a pretrained model consists of: part of the key of what it computes."""
    source = parse(spec)
    digest = hashlib.sha256(source.sha256.encode())
    digest.update(json.dumps(source.settings, sort_keys=True).encode())
    if source.place.is_dir() and source.form != "registry":  # the tokenizer's files and the rest
        small = (".json", ".txt", ".model")
        for path in sorted(p for p in source.place.iterdir() if p.suffix in small):
            digest.update(path.name.encode() + octets_of(path))
    return digest.hexdigest()[:16]


@dataclass(frozen=True)
class Config:
    """A base model that is loaded where others are trained."""

    model: str  # `Source.label` of its input

    def compute(self, inputs, seed: int, folder: Path, device: str) -> dict:
        """What a run of it is: see `compute` below."""
        return compute(self, inputs, seed, folder, device)


def compute(config: Config, inputs, seed: int, folder: Path, device: str) -> dict:
    """Measure a pretrained model as the base model of a data set: recalls on dev and test.

    The weights stay where they are, and the run knows them by their fingerprint only.

    Raises
    ------
    DataError
        Photographs were prepared at another size than the model looks at.
    """
    from alignbook.backbones import base

    dataset, source = inputs
    size = dataset.images.shape[1:3]
    if dataset.name != "world" and size != tuple(source.image_size):
        raise DataError(
            f"photographs of {dataset.name} prepared at {size[0]} × {size[1]} pixels, "
            f"{source.label} looks at {source.image_size[0]} × {source.image_size[1]}: "
            f"start again with --set size={source.image_size[0]}"
        )
    torch.set_num_threads(1)
    model = load(source.spec, device)
    return {
        "steps": 0,
        "training seconds": 0.0,
        "parameters": sum(p.numel() for p in model.parameters()),
        "checksum": model.sha256[:16],
    } | base.recalls(model, model.tokenizer, dataset)


def restore(run) -> tuple[Pretrained, Tokenizer]:
    """The model behind a run of `compute`, from the place where `remember` saw it last.

    Raises
    ------
    DataError
        It is no longer there, or is another one by now.
    """
    expected, name = run.record["inputs"][1], run.config["model"]
    place = run.folder.parent / ".models" / expected
    if not place.is_file():
        raise DataError(
            f"run {run.key} was made with {name}, fingerprint {expected}, which wasn't "
            "used here yet: name its place, --set base=…"
        )
    spec = place.read_text()
    if (found := fingerprint(spec)) != expected:
        raise DataError(
            f"{spec}: changed since run {run.key} measured it: fingerprint {found}, "
            f"expected {expected}; start ./run_all.sh again"
        )
    model = load(spec)
    return model, model.tokenizer


def remember(source: "Source", store: Path) -> None:
    """Note beside the runs where a model lies on this machine, for `restore`; packs lack it."""
    place = store / ".models" / source.key
    durable.write(place, source.spec)


@dataclass(frozen=True)
class Source:
    """The parts of a model, each read when first asked for; one that is wrong is a DataError."""

    spec: str
    form: str
    place: Path
    stated_in: Path | str  # where the settings stand
    files: tuple[Path, ...]  # the weights are in the first that is there
    had: str  # where the weights are usually had
    name: str = ""
    release: dict = field(default_factory=dict)  # what open_clip's registry says of the tag

    @property
    def label(self) -> str:
        """What it is called in results: the spec without the folders of this machine."""
        return self.spec if self.release else f"{self.form}:{self.place.name}"

    @cached_property
    def key(self) -> str:
        """What stands for it in a run's key."""
        return fingerprint(self.spec)

    @cached_property
    def settings(self) -> dict:
        """model_cfg and preprocess_cfg of open_clip, or config.json of transformers."""
        import open_clip

        if self.form == "registry":
            kept = {k: self.release[k] for k in ("mean", "std", "interpolation", "resize_mode")}
            stated = {"model_cfg": open_clip.get_model_config(self.name), "preprocess_cfg": kept}
        else:
            remedy = _SIDECAR.format(name=str(self.stated_in)) if self.form == "checkpoint" else ""
            stated = json_object(self.stated_in, remedy or "it comes with the weights: copy it too")
        hub = self.form == "huggingface"
        model = stated if hub else stated.get("model_cfg")
        parts = {} if hub else {k: stated.get(k) for k in ("model_cfg", "preprocess_cfg")}
        for tower in ("vision_config", "text_config") if hub else ("vision_cfg", "text_cfg"):
            parts[tower] = model.get(tower) if isinstance(model, dict) else None
        lacking = [name for name, value in parts.items() if not isinstance(value, dict)]
        if lacking:
            raise DataError(f"{self.stated_in}: lacks {', '.join(lacking)}; {BELONGS}")
        vision, text = list(parts.values())[-2:]
        kind, reads = stated.get("model_type", "clip"), text.get("pool_type", "argmax")
        options = {k for k in (text.get("tokenizer_kwargs") or {}) if k != "clean"}
        foreign = [
            vision.get("timm_model_name"),
            text.get("hf_model_name"),
            text.get("tokenizer_mode"),
            kind if kind != "clip" else "",
            reads if reads not in ("argmax", "eos") else "",
            *options,
        ]
        if any(foreign):
            raise DataError(
                f"{self.stated_in}: {', '.join(map(str, filter(None, foreign)))} is not supported; "
                "expected open_clip's own towers or a CLIPModel, which read a caption at its end "
                "token or at CoCa's class token"
            )
        return stated

    @cached_property
    def activation(self) -> str:
        """ "quick_gelu" or "gelu", as all that say anything of it agree."""
        said = {}
        if self.form == "huggingface":
            for tower in ("text_config", "vision_config"):
                said[f"{tower} of {self.stated_in}"] = self.settings[tower].get("hidden_act")
                built = getattr(self.skeleton.config, tower)  # early files state a tower twice
                said[f"{tower} as transformers reads it"] = built.hidden_act
            other = self.place / "open_clip_config.json"  # repositories may hold both forms
            if other.is_file():
                said[other] = _activation(json_object(other, BELONGS).get("model_cfg"))
        else:
            said[self.stated_in] = _activation(self.settings["model_cfg"])
        if self.form == "registry":
            said["its tag (a -quickgelu model goes with quick_gelu)"] = _activation(self.release)
        if self.form == "checkpoint":
            if "quick_gelu" not in self.settings["model_cfg"]:  # no default: weights don't tell
                said["what the checkpoint was trained with"] = None
            if start := self.settings.get("tag"):  # the release it was trained from, NAME/TAG
                name, _, tag = str(start).partition("/")
                said[f"tag {start}"] = _activation(_released(self.spec, name, tag).release)
        other = self.place / "config.json"
        if self.form == "openclip" and other.is_file():
            said[other] = (json_object(other, BELONGS).get("text_config") or {}).get("hidden_act")
        kinds = {str(value) for value in said.values()}
        if len(kinds) > 1 or not kinds <= {"quick_gelu", "gelu"}:
            found = "; ".join(f"{value or 'not stated'} in {key}" for key, value in said.items())
            raise DataError(
                f"base model {self.spec!r}: activation mismatch: {found}; expected quick_gelu (for "
                "OpenAI's weights and those trained from them) or gelu in all: see the model card"
            )
        return said.popitem()[1]

    def build(self) -> nn.Module:
        """The architecture, its weights as they are initialised."""
        from open_clip.coca_model import CoCa
        from open_clip.model import CLIP, CustomTextCLIP
        from transformers import CLIPConfig, CLIPModel

        settings = deepcopy(self.settings)
        try:
            if self.form == "huggingface":
                return CLIPModel(CLIPConfig.from_dict(settings))
            settings = settings["model_cfg"]
            custom = settings.pop("custom_text", False)
            kind = CoCa if "multimodal_cfg" in settings else CustomTextCLIP if custom else CLIP
            return kind(**settings)
        except Exception as error:  # whatever a foreign configuration makes the libraries say
            raise DataError(
                f"{self.stated_in}: no model can be built from it ({error}); {BELONGS}"
            ) from error

    @cached_property
    def skeleton(self) -> nn.Module:
        """The model without memory for its weights: shapes only."""
        with torch.device("meta"):
            return self.build()

    @cached_property
    def image_size(self) -> tuple[int, int]:
        from open_clip.utils import to_2tuple

        if self.form == "huggingface":
            return to_2tuple(self.skeleton.config.vision_config.image_size)
        return to_2tuple(self.skeleton.visual.image_size)

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer, if it is the one the text tower was trained with."""
        from open_clip.model import CLIPTextCfg
        from open_clip.tokenizer import HFTokenizer, SimpleTokenizer

        pad, own = None, True
        if self.form == "huggingface":
            text = self.skeleton.config.text_config
            context, options = text.max_position_embeddings, {}
            # 2 was written by mistake into early configurations: it stands for the largest id
            read_at = text.vocab_size - 1 if text.eos_token_id == 2 else text.eos_token_id
        else:
            text = self.skeleton and CLIPTextCfg(**self.settings["model_cfg"]["text_cfg"])
            context, options = text.context_length, text.tokenizer_kwargs or {}
            read_at = text.eos_id if text.pool_type == "eos" else text.vocab_size - 1
            pad, own = text.pad_id if text.embed_cls else None, text.hf_tokenizer_name
        made_for, side = context, "right"
        try:
            if own:
                _offline()
                safe = dict(local_files_only=True, trust_remote_code=False)
                raw = HFTokenizer(self.place, **options, **safe)
                inner = raw.tokenizer
                size, end, side = len(inner), inner.eos_token_id, inner.padding_side
                end = inner.sep_token_id if end is None else end
                made_for = min(inner.model_max_length, 10**6)  # 10^30: it doesn't say
            else:
                raw = SimpleTokenizer(**options)
                size, end = raw.vocab_size, raw.eot_token_id
            ids = raw(["a"], context)[0].tolist()
        except Exception as error:
            raise DataError(
                f"{self.place}: no tokenizer can be read there, and nothing is downloaded; "
                f"expected the files of {own if own is not True else 'the release'}: "
                f"tokenizer.json, or vocab.json and merges.txt ({str(error)[:80]})"
            ) from error
        for what, found, expected in (
            ("tokens, and rows of the token embedding", size, text.vocab_size),
            (
                "context length, and rows of the positional embedding",
                made_for if made_for < 10**6 else context,
                context,
            ),
            (
                "id of the end token, and the one the text is read at (pool_type, eos_id)",
                end,
                read_at,
            ),
            ("end token in a caption", end in ids, True),
            ("side of the padding", side, "right"),
            ("padding", pad if pad is None else ids[-1], pad),
        ):
            if found != expected:
                raise DataError(
                    f"{self.stated_in}: tokenizer mismatch: {what}: {found} in the tokenizer, "
                    f"{expected} in the model; {BELONGS}"
                )
        return Tokenizer(raw, context, end)

    @cached_property
    def transform(self):
        """open_clip's preprocessing for evaluation, as the settings state it."""
        from open_clip.transform import PreprocessCfg, image_transform_v2
        from open_clip.utils import to_2tuple

        if self.form == "huggingface":
            where = self.place / "preprocessor_config.json"
            stated = weight_files.preprocessing(where)
        else:
            where, stated = self.stated_in, self.settings["preprocess_cfg"]
        for name in ("mean", "std"):
            value = stated.get(name)
            three = isinstance(value, list | tuple) and len(value) == 3
            if not three or not all(isinstance(v, float | int) and math.isfinite(v) for v in value):
                raise DataError(f"{where}: {name} is {value}, expected three numbers; {BELONGS}")
        if min(stated["std"]) <= 0:
            raise DataError(f"{where}: std is {stated['std']}, expected it positive; {BELONGS}")
        if tuple(to_2tuple(stated.get("size") or self.image_size)) != tuple(self.image_size):
            raise DataError(
                f"{where}: preprocessing makes pictures of {stated['size']} pixels, the model "
                f"takes {self.image_size[0]}×{self.image_size[1]}; {BELONGS}"
            )
        try:
            config = PreprocessCfg(**{**stated, "size": self.image_size})
            return image_transform_v2(config, is_train=False)
        except (AssertionError, TypeError, ValueError) as error:
            raise DataError(f"{where}: preprocessing can't be made of {stated}: {error}") from error

    @cached_property
    def weights(self) -> Path:
        for path in self.files:
            if path.is_file():
                return path
        try:
            octets = 4 * sum(value.numel() for value in self.skeleton.state_dict().values())
            size = f"about {octets / 1e6:,.0f} MB in float32, half of that in float16"
        except DataError:
            size = "size unknown until its settings are right"
        raise DataError(
            f"{' or '.join(str(path) for path in self.files)}: not found, and nothing is "
            f"downloaded here; put there {self.had}: {size}"
        )

    @cached_property
    def header(self) -> None:
        """Check names and shapes as far as the file tells them without being loaded."""
        weight_files.check(self.weights)
        if self.weights.suffix == ".safetensors":
            from safetensors import SafetensorError, safe_open

            try:
                with safe_open(self.weights, "pt") as file:
                    shapes = {name: file.get_slice(name).get_shape() for name in file.keys()}
            except (SafetensorError, OSError) as error:
                raise weight_files.damaged(self.weights, error) from error
            weight_files.compare(
                self.weights, weight_files.renamed(shapes, self.skeleton), self.skeleton
            )

    @cached_property
    def sha256(self) -> str:
        return contents.sha256([self.weights])[0]

    def filled(self) -> nn.Module:
        """The model with its weights, frozen."""
        model = self.build()
        state, own = (
            weight_files.renamed(weight_files.tensors(self.weights), model),
            model.state_dict(),
        )
        weight_files.compare(
            self.weights, {name: value.shape for name, value in state.items()}, model
        )
        for name, value in state.items():
            if own[name].is_floating_point() and not value.is_floating_point():
                raise DataError(
                    f"{self.weights}: {name} is of {value.dtype}, expected floating point: numbers "
                    "made small for another program can't be read here; take the release itself"
                )
            if not torch.isfinite(value).all():
                raise DataError(
                    f"{self.weights}: {name} holds numbers that are not finite; put a fresh copy "
                    "of the release in its place"
                )
        model.load_state_dict({n: value.reshape(own[n].shape) for n, value in state.items()})
        return model.requires_grad_(False)


def _offline() -> None:
    """Keep the hub's client from the network, also where it was imported before."""
    from huggingface_hub import constants

    os.environ["HF_HUB_OFFLINE"] = "1"
    constants.HF_HUB_OFFLINE = True


def _activation(settings: dict | None) -> str:
    quick = (settings or {}).get("quick_gelu", False)
    return {"True": "quick_gelu", "False": "gelu"}.get(str(quick), f"quick_gelu {quick!r}")
