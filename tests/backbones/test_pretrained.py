"""Pretrained models: each form gives its source's embeddings; what doesn't belong is refused."""

import json
import pickle
import shutil
from copy import deepcopy

import numpy as np
import pytest
import torch
from alignbook.backbones import pretrained, weight_files
from alignbook.errors import DataError
from PIL import Image
from safetensors.torch import load_file, save_file
from torch.nn import functional as F

PREPROCESS = {"mean": [0.4, 0.5, 0.6], "std": [0.2, 0.25, 0.3]}
VISION = {"image_size": 32, "patch_size": 16, "width": 16, "head_width": 8, "layers": 2}
TEXT = {"context_length": 10, "width": 16, "heads": 2, "layers": 2}  # 49,408 tokens: CLIP's BPE
VIT = {"embed_dim": 12, "quick_gelu": True, "vision_cfg": VISION, "text_cfg": TEXT}
RESNET = {
    "embed_dim": 12,
    "vision_cfg": {"image_size": 64, "width": 8, "layers": [1, 1, 1, 1]},
    "text_cfg": TEXT,
}
COCA = {
    "embed_dim": 12,
    "custom_text": True,
    "multimodal_cfg": {**TEXT, "attn_pooler_heads": 2},
    "vision_cfg": {
        **VISION,
        "attentional_pool": True,
        "attn_pooler_queries": 5,
        "attn_pooler_heads": 2,
        "output_tokens": True,
    },
    "text_cfg": {**TEXT, "embed_cls": True, "output_tokens": True},
}
WORDS = ["[pad]", "[start]", "[unk]", "[end]", "a", "dog", "red", "car", "runs"]
END = 3
OWN = {
    "embed_dim": 12,
    "vision_cfg": VISION,
    "text_cfg": {
        **TEXT,
        "vocab_size": len(WORDS),
        "hf_tokenizer_name": "own",
        "pool_type": "eos",
        "eos_id": END,
    },
}
CAPTIONS = ["a red dog runs", "a car", "a dog " * 12]
SHAPES = {"vit": VIT, "resnet": RESNET, "coca": COCA, "own": OWN}


pytestmark = pytest.mark.usefixtures("no_network")


def tokenizer(words=WORDS, template="[start] $A [end]", **options):
    """Words as tokens, in transformers' form."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    ids = {word: i for i, word in enumerate(words)}
    inner = Tokenizer(models.WordLevel(ids, unk_token="[unk]"))
    inner.pre_tokenizer = pre_tokenizers.Whitespace()
    special = [(word, ids[word]) for word in ("[start]", "[end]")]
    inner.post_processor = processors.TemplateProcessing(single=template, special_tokens=special)
    return PreTrainedTokenizerFast(
        tokenizer_object=inner,
        **{"eos_token": "[end]", "pad_token": "[pad]", "unk_token": "[unk]", **options},
    )


def put(path, value):
    path.write_text(json.dumps(value))


def source_model(folder):
    """The model and preprocessing as open_clip itself makes them of a folder."""
    import open_clip

    model, _, transform = open_clip.create_model_and_transforms(f"local-dir:{folder}")
    return model.eval(), transform


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """One folder as on open_clip's hub for each architecture, with random weights."""
    from open_clip.coca_model import CoCa
    from open_clip.model import CLIP

    torch.manual_seed(0)
    found = {}
    for name, config in SHAPES.items():
        folder = found[name] = tmp_path_factory.mktemp(name)
        settings = deepcopy(config)
        settings.pop("custom_text", None)
        model = (CoCa if name == "coca" else CLIP)(**settings)
        for key, value in model.state_dict().items():  # large, so that activations are not linear
            if value.is_floating_point() and "running" not in key and "logit" not in key:
                value.copy_(torch.randn_like(value) * 0.3)
        save_file(model.state_dict(), folder / "open_clip_model.safetensors")
        put(folder / "open_clip_config.json", {"model_cfg": config, "preprocess_cfg": PREPROCESS})
    tokenizer().save_pretrained(found["own"])
    return found


@pytest.fixture(scope="module")
def huggingface(tmp_path_factory):
    from transformers import CLIPConfig, CLIPModel

    torch.manual_seed(1)
    folder = tmp_path_factory.mktemp("huggingface")
    tower = dict(hidden_size=16, intermediate_size=32, num_hidden_layers=2, num_attention_heads=2)
    config = CLIPConfig(
        text_config={
            **tower,
            "vocab_size": len(WORDS),
            "max_position_embeddings": 10,
            "eos_token_id": END,
            "bos_token_id": 1,
            "pad_token_id": 0,
            "hidden_act": "gelu",
        },
        vision_config={**tower, "image_size": 32, "patch_size": 16, "hidden_act": "gelu"},
        projection_dim=12,
    )
    model = CLIPModel(config)
    for name, value in model.state_dict().items():
        if value.is_floating_point() and name != "logit_scale":
            value.copy_(torch.randn_like(value) * 0.3)
    model.save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    put(
        folder / "preprocessor_config.json",
        {
            "crop_size": {"height": 32, "width": 32},
            "size": {"shortest_edge": 32},
            "resample": 3,
            "image_mean": PREPROCESS["mean"],
            "image_std": PREPROCESS["std"],
        },
    )
    return folder


PICTURES = np.random.default_rng(0).integers(0, 256, (3, 40, 50, 3), np.uint8)


# --- the same embeddings as the source -----------------------------------------------------------


@torch.no_grad()
def same_as_open_clip(spec, folder):
    model, transform = source_model(folder)
    ours = pretrained.load(spec)
    pixels = torch.stack([transform(Image.fromarray(picture)) for picture in PICTURES])
    assert torch.equal(ours.preprocess(PICTURES), pixels)
    import open_clip

    ids = open_clip.get_tokenizer(f"local-dir:{folder}")(CAPTIONS)
    assert torch.equal(ours.tokenizer(CAPTIONS), ids)
    torch.testing.assert_close(
        ours.encode_image(pixels), model.encode_image(pixels, normalize=True), atol=1e-5, rtol=0
    )
    expected = model.encode_text(ids, normalize=True)
    torch.testing.assert_close(ours.encode_text(CAPTIONS), expected, atol=1e-5, rtol=0)
    torch.testing.assert_close(ours.encode_text(ids), expected, atol=1e-5, rtol=0)
    torch.testing.assert_close(ours.scale(), model.logit_scale.exp(), atol=1e-5, rtol=0)
    return ours


@pytest.mark.parametrize("name", SHAPES)
def test_a_folder_gives_open_clips_embeddings(folders, name):
    ours = same_as_open_clip(f"openclip:{folders[name]}", folders[name])
    assert ours.activation == ("quick_gelu" if name == "vit" else "gelu")
    assert ours.context_length == 10 and ours.embed_dim == 12
    assert ours.image_size == ((64, 64) if name == "resnet" else (32, 32))
    assert len(ours.sha256) == 64 and ours.sha256[:16] in ours.origin
    assert folders[name].name in ours.origin and str(folders[name].parent) not in ours.origin


@pytest.mark.parametrize("prefix", ["", "module."])
def test_a_checkpoint_with_its_sidecar_gives_the_same(folders, tmp_path, prefix):
    state = load_file(folders["vit"] / "open_clip_model.safetensors")
    state = {prefix + name: value for name, value in state.items()}
    file = tmp_path / "epoch_5.pt"
    torch.save({"epoch": 5, "name": "run", "state_dict": state, "optimizer": {"state": {}}}, file)
    put(tmp_path / "epoch_5.pt.json", {"model_cfg": VIT, "preprocess_cfg": PREPROCESS})
    same_as_open_clip(f"checkpoint:{file}", folders["vit"])


def test_a_checkpoint_with_a_scale_of_one_number_in_a_row(folders, tmp_path):
    state = load_file(folders["vit"] / "open_clip_model.safetensors")
    state["logit_scale"] = state["logit_scale"].reshape(1)
    torch.save(state, tmp_path / "old.pt")
    put(tmp_path / "old.pt.json", {"model_cfg": VIT, "preprocess_cfg": PREPROCESS})
    assert pretrained.load(f"checkpoint:{tmp_path / 'old.pt'}").scale().shape == ()


@torch.no_grad()
def test_weights_in_float16_are_computed_with_in_float32(folders, tmp_path):
    folder = shutil.copytree(folders["own"], tmp_path / "folder")
    file = folder / "open_clip_model.safetensors"
    save_file({name: value.half() for name, value in load_file(file).items()}, file)
    whole, half = (pretrained.load(f"openclip:{f}") for f in (folders["own"], folder))
    assert {value.dtype for value in half.parameters()} == {torch.float32}
    torch.testing.assert_close(
        half.encode_text(CAPTIONS), whole.encode_text(CAPTIONS), atol=1e-2, rtol=0
    )


def test_a_checkpoint_under_clips_names_fills_a_custom_text_model(folders, tmp_path):
    config = {**VIT, "custom_text": True}
    shutil.copy(folders["vit"] / "open_clip_model.safetensors", tmp_path / "old.safetensors")
    put(tmp_path / "old.safetensors.json", {"model_cfg": config, "preprocess_cfg": PREPROCESS})
    same_as_open_clip(f"checkpoint:{tmp_path / 'old.safetensors'}", folders["vit"])


@pytest.fixture
def registry(monkeypatch, tmp_path):
    """open_clip's registry with a small model trained with QuickGELU and one trained without."""
    from open_clip import factory
    from open_clip import pretrained as releases

    release = {
        "url": "",
        "hf_hub": "some/repository/",
        **PREPROCESS,
        "interpolation": "bilinear",
        "resize_mode": "squash",
    }
    quick = {"early": {**release, "quick_gelu": True}}
    plain = {key: value for key, value in VIT.items() if key != "quick_gelu"}
    monkeypatch.setitem(factory._MODEL_CONFIGS, "tiny", plain)
    monkeypatch.setitem(factory._MODEL_CONFIGS, "tiny-quickgelu", VIT)
    monkeypatch.setitem(releases._PRETRAINED, "tiny", {**quick, "late": release})
    monkeypatch.setitem(releases._PRETRAINED, "tiny-quickgelu", quick)
    monkeypatch.setattr(weight_files, "WEIGHTS", tmp_path / "weights")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "cache"))
    (tmp_path / "weights").mkdir()
    return tmp_path


@pytest.mark.parametrize("place", ["weights", "cache"])
def test_a_release_is_found_in_data_and_in_the_hubs_cache(folders, registry, place):
    target = registry / "weights/tiny-quickgelu-early.safetensors"
    if place == "cache":
        repository = registry / "cache/models--some--repository"
        target = repository / "snapshots" / ("0" * 40) / "open_clip_model.safetensors"
        (repository / "refs").mkdir(parents=True)
        (repository / "refs/main").write_text("0" * 40)
        target.parent.mkdir(parents=True)
    shutil.copy(
        folders["vit"] / target.name.replace("tiny-quickgelu-early", "open_clip_model"), target
    )
    folder = registry / "folder"  # the same in the form that open_clip itself reads from disk
    shutil.copytree(folders["vit"], folder)
    stated = {**PREPROCESS, "interpolation": "bilinear", "resize_mode": "squash"}
    put(folder / "open_clip_config.json", {"model_cfg": VIT, "preprocess_cfg": stated})
    assert pretrained.problems("openclip:tiny-quickgelu/early") == []
    same_as_open_clip("openclip:tiny-quickgelu/early", folder)


def processed(folder, pictures):
    """What transformers' own preprocessing, the one on PIL, gives."""
    from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil

    own = CLIPImageProcessorPil.from_pretrained(folder)
    return own([Image.fromarray(p) for p in pictures], return_tensors="pt").pixel_values


@torch.no_grad()
def test_a_hugging_face_folder_gives_transformers_embeddings(huggingface):
    from transformers import AutoTokenizer, CLIPModel

    model = CLIPModel.from_pretrained(huggingface)
    ours = pretrained.load(f"huggingface:{huggingface}")
    pixels = processed(huggingface, PICTURES)
    torch.testing.assert_close(ours.preprocess(PICTURES), pixels, atol=1e-5, rtol=0)
    batch = AutoTokenizer.from_pretrained(huggingface)(
        CAPTIONS, return_tensors="pt", padding=True, truncation=True, max_length=10
    )
    found = model(
        input_ids=batch.input_ids, attention_mask=batch.attention_mask, pixel_values=pixels
    )
    torch.testing.assert_close(ours.encode_image(pixels), found.image_embeds, atol=1e-5, rtol=0)
    torch.testing.assert_close(ours.encode_text(CAPTIONS), found.text_embeds, atol=1e-5, rtol=0)
    assert ours.activation == "gelu" and ours.embed_dim == 12 and ours.image_size == (32, 32)
    grid = ours.region_map(pixels)
    assert grid.shape == (3, ours.region_dim, 2, 2) == (3, 12, 2, 2)
    tokens = model.vision_model(pixels).last_hidden_state[:, 1:]
    second = model.visual_projection(model.vision_model.post_layernorm(tokens[:, 1]))
    torch.testing.assert_close(grid[:, :, 0, 1], second, atol=1e-5, rtol=0)


@torch.no_grad()
def test_early_hugging_face_folders_read_the_text_at_the_largest_id(huggingface, tmp_path):
    folder = shutil.copytree(huggingface, tmp_path / "early")
    config = json.loads((folder / "config.json").read_text())
    config["text_config"]["eos_token_id"] = 2
    put(folder / "config.json", config)
    assert "end token" in refused(f"huggingface:{folder}")
    tokenizer([word for word in WORDS if word != "[end]"] + ["[end]"]).save_pretrained(folder)
    ours = pretrained.load(f"huggingface:{folder}")
    assert ours.tokenizer.end == len(WORDS) - 1
    states = ours.model.text_model(ours.tokenizer(["a car"])).last_hidden_state
    expected = F.normalize(ours.model.text_projection(states[:, 3]), dim=1)
    torch.testing.assert_close(ours.encode_text(["a car"]), expected, atol=1e-5, rtol=0)


# --- the object ----------------------------------------------------------------------------------


@torch.no_grad()
def test_region_map_of_a_vit_holds_its_patches_in_place(folders):
    ours = pretrained.load(f"openclip:{folders['vit']}")
    pixels = ours.preprocess(PICTURES)
    visual = ours.model.visual
    visual.output_tokens = True  # the tokens after the last block and the layer norm
    _, tokens = visual(pixels)
    visual.output_tokens = False
    grid = ours.region_map(pixels)
    assert grid.shape == (3, 12, 2, 2) and ours.region_dim == 12
    for patch, (y, x) in enumerate([(0, 0), (0, 1), (1, 0), (1, 1)]):
        expected = tokens[:, patch] @ visual.proj
        torch.testing.assert_close(grid[:, :, y, x], expected, atol=1e-5, rtol=0)


@torch.no_grad()
def test_region_map_of_a_resnet_is_its_last_convolution(folders):
    ours = pretrained.load(f"openclip:{folders['resnet']}")
    pixels = ours.preprocess(PICTURES)
    visual = ours.model.visual
    deep = visual.layer4(visual.layer3(visual.layer2(visual.layer1(visual.stem(pixels)))))
    assert torch.equal(ours.region_map(pixels), deep)
    assert deep.shape == (3, ours.region_dim, 2, 2)


@torch.no_grad()
def test_region_map_of_a_coca_is_its_pooling_of_one_patch(folders):
    ours = pretrained.load(f"openclip:{folders['coca']}")
    pixels = ours.preprocess(PICTURES)
    visual = ours.model.visual
    states = visual.transformer(visual._embeds(pixels))
    grid = ours.region_map(pixels)
    assert grid.shape == (3, 12, 2, 2)
    for patch, (y, x) in enumerate([(0, 0), (0, 1), (1, 0), (1, 1)]):
        every_query = visual.ln_post(visual.attn_pool(states[:, 1 + patch : 2 + patch]))
        assert every_query.shape[1] == 5
        for query in range(5):
            expected = every_query[:, query] @ visual.proj
            torch.testing.assert_close(grid[:, :, y, x], expected, atol=1e-5, rtol=0)


def test_long_captions_are_cut_and_counted_and_keep_their_end(folders):
    tokens = pretrained.load(f"openclip:{folders['vit']}").tokenizer
    eight, nine = "a " * 8, "a " * 9  # with start and end token: 10 and 11
    ids = tokens([eight, nine, "a ! ! ! ! ! ! ! ! ! ! !", "!!"])
    assert ids.shape == (4, 10) and tokens.cut == 2
    assert ids[:, -1].tolist() == [49407, 49407, 49407, 0]
    assert torch.equal(ids[0], ids[1])
    tokens([nine])
    assert tokens.cut == 3
    ids, lengths = tokens.encode(["a", eight, nine])
    assert lengths.tolist() == [3, 10, 10] and ids[0, 2] == 49407
    with pytest.raises(ValueError, match="list of captions"):
        tokens("a dog")


def test_the_object_stays_frozen(folders):
    ours = pretrained.load(f"openclip:{folders['resnet']}").train()
    assert not any(module.training for module in ours.modules())
    assert not any(value.requires_grad for value in ours.parameters())
    assert not ours.encode_image(torch.rand(2, 3, 64, 64)).requires_grad


def test_inputs_of_another_form_are_refused(folders):
    ours = pretrained.load(f"openclip:{folders['vit']}")
    with pytest.raises(ValueError, match=r"pixels \(1, 3, 64, 64\), expected .*32"):
        ours.encode_image(torch.rand(1, 3, 64, 64))
    with pytest.raises(ValueError, match="pixels"):
        ours.region_map(torch.rand(1, 3, 64, 64))
    with pytest.raises(ValueError, match=r"ids \(1, 77\), expected \(B, 10\)"):
        ours.encode_text(torch.zeros(1, 77, dtype=torch.long))
    for wrong in (PICTURES / 255, PICTURES[..., :1], PICTURES.transpose(0, 3, 1, 2)):
        with pytest.raises(ValueError, match="uint8"):
            ours.preprocess(wrong)


@torch.no_grad()
def test_the_scale_is_at_most_100(folders):
    ours = pretrained.load(f"openclip:{folders['vit']}")
    assert ours.scale().item() == pytest.approx(1 / 0.07, rel=1e-5)
    ours.model.logit_scale.fill_(9.0)
    assert ours.scale() == 100


@torch.no_grad()
def test_the_activation_matters(folders, tmp_path):
    """Why a mismatch is refused: nothing else would tell."""
    other = shutil.copytree(folders["vit"], tmp_path / "other")
    settings = {"model_cfg": {**VIT, "quick_gelu": False}, "preprocess_cfg": PREPROCESS}
    put(other / "open_clip_config.json", settings)
    quick, plain = (pretrained.load(f"openclip:{f}") for f in (folders["vit"], other))
    pixels = quick.preprocess(PICTURES)
    assert (quick.encode_image(pixels) - plain.encode_image(pixels)).abs().max() > 1e-3


def test_the_fingerprint_tells_every_part(folders, tmp_path):
    folder = shutil.copytree(folders["own"], tmp_path / "copy")
    spec = f"openclip:{folder}"
    found = [pretrained.fingerprint(f"openclip:{folders['own']}"), pretrained.fingerprint(spec)]
    assert found[0] == found[1] and len(found[0]) == 16
    put(
        folder / "open_clip_config.json",
        {"model_cfg": OWN, "preprocess_cfg": {**PREPROCESS, "std": [0.1, 0.1, 0.1]}},
    )
    found.append(pretrained.fingerprint(spec))
    words = [*WORDS[:-2], WORDS[-1], WORDS[-2]]
    tokenizer(words).save_pretrained(folder)
    found.append(pretrained.fingerprint(spec))
    state = load_file(folder / "open_clip_model.safetensors")
    state["logit_scale"] += 1
    save_file(state, folder / "open_clip_model.safetensors")
    found.append(pretrained.fingerprint(spec))
    assert len(set(found)) == 4


def test_the_fingerprint_tells_what_the_sidecar_says(folders, tmp_path):
    shutil.copy(folders["vit"] / "open_clip_model.safetensors", tmp_path / "a.safetensors")
    found = set()
    for std in ([0.2, 0.2, 0.2], [0.2, 0.2, 0.3]):
        stated = {"model_cfg": VIT, "preprocess_cfg": {**PREPROCESS, "std": std}}
        put(tmp_path / "a.safetensors.json", stated)
        found.add(pretrained.fingerprint(f"checkpoint:{tmp_path / 'a.safetensors'}"))
    assert len(found) == 2


def test_the_hubs_client_is_set_offline(folders, monkeypatch):
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    assert pretrained.problems(f"openclip:{folders['own']}") == []
    assert constants.is_offline_mode()


# --- refusals ------------------------------------------------------------------------------------


def refused(spec, loads=False):
    """What is said of a spec; `loads`: only when its weights are read."""
    said = pretrained.problems(spec)
    assert not said if loads else said
    with pytest.raises(DataError) as error:
        pretrained.load(spec)
    assert loads or str(error.value) == said[0]
    return " ".join(said) or str(error.value)


@pytest.mark.parametrize(
    "spec, says",
    [
        ("timm:something", "expected openclip:NAME/TAG"),
        ("ViT-B-32", "expected openclip:NAME/TAG"),
        ("openclip:", "expected openclip:NAME/TAG"),
        ("checkpoint:", "expected openclip:NAME/TAG"),
        ("openclip:No-Such-Model/openai", "expected openclip:NAME/TAG"),
        ("openclip:../../weights/openai", "expected openclip:NAME/TAG"),
        ("openclip:ViT-B-32/../../../secret", "no tag '../../../secret'; expected one of openai"),
        ("openclip:ViT-B-32/no_such_tag", "no tag 'no_such_tag'; expected one of openai"),
        ("openclip:ViT-B-16-SigLIP/webli", "vit_base_patch16_siglip_224, last is not supported"),
        ("openclip:roberta-ViT-B-32/laion2b_s12b_b32k", "roberta-base is not supported"),
        ("checkpoint:/no/such/file.pt", "o.get_model_config('ViT-B-32')"),
        ("huggingface:/no/such/folder", "config.json: not found"),
    ],
)
def test_a_spec_that_names_nothing(spec, says):
    assert says in refused(spec)


@pytest.mark.parametrize(
    "name, megabytes",
    [
        ("ViT-B-32-quickgelu/openai", "605"),
        ("ViT-L-14-quickgelu/openai", "1,710"),
        ("coca_ViT-B-32/laion2b_s13b_b90k", "1,014"),
        ("RN50-quickgelu/openai", "408"),
    ],
)
def test_missing_weights_are_asked_for_with_place_and_size(registry, name, megabytes):
    (said,) = pretrained.problems(f"openclip:{name}")
    assert f"{registry / 'weights' / name.replace('/', '-')}.safetensors or" in said
    assert f"about {megabytes} MB in float32" in said and "open_clip release" in said


@pytest.mark.parametrize("tag", ["tiny/early", "tiny-quickgelu/late"])
def test_a_tag_trained_with_another_activation(folders, registry, tag):
    weights = folders["vit"] / "open_clip_model.safetensors"
    shutil.copy(weights, registry / "weights" / f"{tag.replace('/', '-')}.safetensors")
    assert "activation mismatch" in refused(f"openclip:{tag}")


def test_openais_weights_without_quick_gelu_are_refused():
    assert "activation mismatch: gelu in open_clip's ViT-B-32" in refused(
        "openclip:ViT-B-32/openai"
    )


def changed(value, keys, new):
    """A copy of nested dicts with one entry changed, or taken out (`None`)."""
    value = deepcopy(value)
    inner = value
    for key in keys[:-1]:
        inner = inner[key]
    inner.pop(keys[-1]) if new is None else inner.update({keys[-1]: new})
    return value


@pytest.mark.parametrize(
    "keys, new, says",
    [
        (["model_cfg"], None, "lacks model_cfg"),
        (["model_cfg"], "ViT-B-32", "lacks model_cfg"),
        (["preprocess_cfg"], None, "lacks preprocess_cfg"),
        (["model_cfg", "text_cfg"], None, "lacks text_cfg"),
        (["model_cfg", "vision_cfg", "timm_model_name"], "local-dir:../..", "not supported"),
        (["model_cfg", "text_cfg", "hf_model_name"], "../other", "not supported"),
        (["model_cfg", "text_cfg", "pool_type"], "last", "last is not supported"),
        (["model_cfg", "text_cfg", "tokenizer_mode"], "clips", "clips is not supported"),
        (["model_cfg", "text_cfg", "tokenizer_kwargs"], {"subfolder": "../.."}, "subfolder is not"),
        (["model_cfg", "text_cfg", "depth"], 3, "no model can be built"),
        (["model_cfg", "vision_cfg", "depth"], 3, "no model can be built"),
        (["model_cfg", "text_cfg", "heads"], 3, "no model can be built"),
        (["model_cfg", "text_cfg", "vocab_size"], 10, "rows of the token embedding: 9 in the"),
        (["model_cfg", "text_cfg", "eos_id"], 4, "end token"),
        (["model_cfg", "text_cfg", "pool_type"], "argmax", "end token"),
        (["model_cfg", "text_cfg", "context_length"], 12, "positional_embedding is (10, 16)"),
        (["model_cfg", "embed_dim"], 8, "text_projection is (16, 12), in the model (16, 8)"),
        (
            ["model_cfg", "vision_cfg", "layers"],
            3,
            "12 missing: visual.transformer.resblocks.2.attn",
        ),
        (
            ["model_cfg", "vision_cfg", "layers"],
            1,
            "12 unexpected: visual.transformer.resblocks.1.",
        ),
        (["model_cfg", "vision_cfg", "image_size"], 64, "visual.positional_embedding is (5, 16)"),
        (["preprocess_cfg", "size"], 224, "pictures of 224 pixels, the model takes 32×32"),
        (["preprocess_cfg", "size"], [32, 48], "pictures of [32, 48] pixels"),
        (["preprocess_cfg", "mean"], [0.5], "mean is [0.5], expected three numbers"),
        (["preprocess_cfg", "mean"], None, "mean is None, expected three numbers"),
        (["preprocess_cfg", "std"], [0.2, 0.2, 0.2, 1.0], "std is [0.2, 0.2, 0.2, 1.0]"),
        (["preprocess_cfg", "std"], [0.2, 0.0, 0.2], "expected it positive"),
        (["preprocess_cfg", "std"], ["a", "b", "c"], "expected three numbers"),
        (["preprocess_cfg", "std"], [[1], [2, 3], 4], "expected three numbers"),
        (["preprocess_cfg", "mean"], [0.5, 0.5, float("nan")], "expected three numbers"),
        (["preprocess_cfg", "interpolation"], "nearest", "preprocessing can't be made"),
        (["preprocess_cfg", "means"], [0, 0, 0], "preprocessing can't be made"),
    ],
)
def test_settings_that_do_not_belong_to_the_weights(folders, tmp_path, keys, new, says):
    folder = shutil.copytree(folders["own"], tmp_path / "folder")
    settings = {"model_cfg": OWN, "preprocess_cfg": PREPROCESS}
    put(folder / "open_clip_config.json", changed(settings, keys, new))
    assert says in refused(f"openclip:{folder}")


@pytest.mark.parametrize("text, says", [("{", "no JSON"), ("[]", "expected a JSON object")])
def test_settings_that_are_no_json(folders, tmp_path, text, says):
    folder = shutil.copytree(folders["own"], tmp_path / "folder")
    (folder / "open_clip_config.json").write_text(text)
    assert says in refused(f"openclip:{folder}")


def test_two_forms_in_one_folder_that_state_two_activations(folders, huggingface, tmp_path):
    folder = shutil.copytree(folders["own"], tmp_path / "folder")
    put(folder / "config.json", {"text_config": {"hidden_act": "quick_gelu"}})
    assert "activation mismatch" in refused(f"openclip:{folder}")
    put(folder / "config.json", {"text_config": {"hidden_act": "gelu"}})
    assert pretrained.problems(f"openclip:{folder}") == []
    other = shutil.copytree(huggingface, tmp_path / "other")
    put(other / "open_clip_config.json", {"model_cfg": {"quick_gelu": True}})
    assert "activation mismatch" in refused(f"huggingface:{other}")


@pytest.mark.parametrize(
    "options, says",
    [
        ({"template": "[start] $A"}, "end token in a caption: False"),
        ({"padding_side": "left"}, "side of the padding: left"),
        ({"words": WORDS[:-1]}, "8 in the tokenizer, 9 in the model"),
        ({"model_max_length": 77}, "context length, and rows of the positional embedding: 77"),
        ({"words": [*WORDS[:3], "a", "[end]", *WORDS[5:]]}, "end token"),
    ],
)
@pytest.mark.parametrize("form", ["openclip", "huggingface"])
def test_a_tokenizer_of_another_model(folders, huggingface, tmp_path, form, options, says):
    source = folders["own"] if form == "openclip" else huggingface
    folder = shutil.copytree(source, tmp_path / "folder")
    tokenizer(**options).save_pretrained(folder)
    said = refused(f"{form}:{folder}")
    assert "tokenizer mismatch" in said and says in said


def test_a_coca_whose_tokenizer_pads_with_another_id(folders, tmp_path):
    folder = shutil.copytree(folders["coca"], tmp_path / "folder")
    settings = {"model_cfg": COCA, "preprocess_cfg": PREPROCESS}
    put(folder / "open_clip_config.json", changed(settings, ["model_cfg", "text_cfg", "pad_id"], 1))
    assert "padding: 0 in the tokenizer, 1 in the model" in refused(f"openclip:{folder}")


def test_a_tokenizer_that_lost_its_vocabulary(folders, tmp_path):
    """transformers' BERT tokenizer made of vocab_file knows no word, and says nothing of it."""
    from transformers import BertTokenizerFast

    folder = shutil.copytree(folders["own"], tmp_path / "folder")
    (tmp_path / "vocab.txt").write_text("\n".join(["[CLS]", "[PAD]", *WORDS]))
    for path in folder.glob("tokenizer*"):
        path.unlink()
    assert "no tokenizer can be read there, and nothing is downloaded" in refused(
        f"openclip:{folder}"
    )
    BertTokenizerFast(vocab_file=str(tmp_path / "vocab.txt")).save_pretrained(folder)
    assert "tokenizer mismatch" in refused(f"openclip:{folder}")


def test_code_beside_a_tokenizer_is_not_run(folders, tmp_path):
    folder = shutil.copytree(folders["own"], tmp_path / "folder")
    config = json.loads((folder / "tokenizer_config.json").read_text())
    put(
        folder / "tokenizer_config.json",
        {**config, "tokenizer_class": "Other", "auto_map": {"AutoTokenizer": ["x.Other", None]}},
    )
    (folder / "x.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\nclass Other: pass\n")
    pretrained.problems(f"openclip:{folder}")
    assert not (tmp_path / "ran").exists()


def test_a_tokenizer_without_a_padding_token(folders, tmp_path):
    folder = shutil.copytree(folders["own"], tmp_path / "folder")
    tokenizer(pad_token=None).save_pretrained(folder)
    assert "no tokenizer can be read there" in refused(f"openclip:{folder}")


@pytest.mark.parametrize(
    "keys, new, says",
    [
        (["model_type"], "siglip", "siglip is not supported"),
        (["text_config"], None, "lacks text_config"),
        (["text_config", "hidden_act"], None, "not stated in text_config"),
        (["text_config", "hidden_act"], "quick_gelu", "activation mismatch"),
        (["vision_config", "hidden_act"], "quick_gelu", "activation mismatch"),
        (["vision_config", "image_size"], 64, "the model takes 64×64"),
        (["text_config", "vocab_size"], 20, "rows of the token embedding: 9"),
        (["text_config", "max_position_embeddings"], 12, "position_embedding.weight is (10, 16)"),
        (["text_config", "num_attention_heads"], 3, "no model can be built"),
        (["projection_dim"], 8, "text_projection.weight is (12, 16), in the model (8, 16)"),
    ],
)
def test_a_hugging_face_configuration_of_another_model(huggingface, tmp_path, keys, new, says):
    folder = shutil.copytree(huggingface, tmp_path / "folder")
    config = json.loads((folder / "config.json").read_text())
    put(folder / "config.json", changed(config, keys, new))
    assert says in refused(f"huggingface:{folder}")


def test_a_tower_stated_twice(huggingface, tmp_path):
    """transformers fills text_config_dict with defaults and takes it before text_config."""
    folder = shutil.copytree(huggingface, tmp_path / "folder")
    config = json.loads((folder / "config.json").read_text())
    given = {k: v for k, v in config["text_config"].items() if k != "hidden_act"}
    put(folder / "config.json", {**config, "text_config_dict": given})
    assert "quick_gelu in text_config as transformers reads it" in refused(f"huggingface:{folder}")


def test_an_activation_that_is_neither(huggingface, tmp_path):
    folder = shutil.copytree(huggingface, tmp_path / "folder")
    config = json.loads((folder / "config.json").read_text())
    for tower in ("text_config", "vision_config"):
        config[tower]["hidden_act"] = "relu"
    put(folder / "config.json", config)
    assert "activation mismatch: relu in text_config" in refused(f"huggingface:{folder}")


@pytest.mark.parametrize(
    "keys, new, says",
    [
        (["crop_size"], {"height": 24, "width": 24}, "to the size of the centre crop"),
        (["size"], {"height": 32, "width": 32}, "shortest side resized"),
        (["size"], [32, 32], "shortest side resized"),
        (["do_center_crop"], False, "shortest side resized"),
        (["do_normalize"], False, "shortest side resized"),
        (["rescale_factor"], 1 / 127.5, "shortest side resized"),
        (["resample"], 0, "bilinear or bicubic"),
        (["image_mean"], [0.5, 0.5], "mean is [0.5, 0.5]"),
        (["image_std"], None, "std is None"),
    ],
)
def test_a_hugging_face_preprocessor_of_another_model(huggingface, tmp_path, keys, new, says):
    folder = shutil.copytree(huggingface, tmp_path / "folder")
    path = folder / "preprocessor_config.json"
    put(path, changed(json.loads(path.read_text()), keys, new))
    assert says in refused(f"huggingface:{folder}")


def test_early_preprocessors_state_sizes_as_numbers(huggingface, tmp_path):
    folder = shutil.copytree(huggingface, tmp_path / "folder")
    path = folder / "preprocessor_config.json"
    early = json.loads(path.read_text()) | {"size": 32, "crop_size": 32, "resample": 2}
    put(path, early)
    assert "bilinear" in str(pretrained.load(f"huggingface:{folder}").transform)
    put(path, early | {"size": 224, "crop_size": 224})
    assert "pictures of 224 pixels" in refused(f"huggingface:{folder}")


@pytest.mark.parametrize(
    "sidecar, says",
    [
        (
            {"model_cfg": changed(VIT, ["quick_gelu"], None), "preprocess_cfg": PREPROCESS},
            "not stated in what the checkpoint was trained with",
        ),
        (
            {
                "model_cfg": {**VIT, "quick_gelu": False},
                "preprocess_cfg": PREPROCESS,
                "tag": "ViT-B-32-quickgelu/openai",
            },
            "quick_gelu in tag ViT-B-32-quickgelu/openai",
        ),
        (
            {"model_cfg": VIT, "preprocess_cfg": PREPROCESS, "tag": "ViT-B-32/laion2b_s34b_b79k"},
            "gelu in tag",
        ),
        ({"model_cfg": VIT, "preprocess_cfg": PREPROCESS, "tag": "../../secret"}, ".. has no tag"),
        ({"model_cfg": VIT, "preprocess_cfg": PREPROCESS, "tag": "."}, ". has no tag"),
        (
            {"model_cfg": {**VIT, "quick_gelu": "no"}, "preprocess_cfg": PREPROCESS},
            "quick_gelu 'no' in",
        ),
        ({"model_cfg": VIT}, "lacks preprocess_cfg"),
        (None, "get_model_config"),
    ],
)
def test_a_sidecar_that_says_too_little_or_something_else(folders, tmp_path, sidecar, says):
    file = tmp_path / "model.safetensors"
    shutil.copy(folders["vit"] / "open_clip_model.safetensors", file)
    if sidecar:
        put(tmp_path / "model.safetensors.json", sidecar)
    assert says in refused(f"checkpoint:{file}")


class Code:
    """Unpickled, it would run code."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (open, (str(self.path), "w"))


def broken(kind, state, folder):
    """The weights of a folder in some broken form: `(file, when it is loaded only)`."""
    whole, bin = folder / "open_clip_model.safetensors", folder / "open_clip_pytorch_model.bin"
    octets = whole.read_bytes()
    whole.unlink()
    if kind == "empty":
        whole.write_bytes(b"")
    elif kind == "cut short":
        whole.write_bytes(octets[:-1])
    elif kind == "cut in its header":
        whole.write_bytes(octets[:100])
    elif kind == "a page instead of weights":
        whole.write_text("<html>sign in first</html>")
    elif kind in ("nan", "infinite"):
        state["ln_final.weight"][3] = float(kind[:3])
        save_file(state, whole)
    elif kind == "missing":
        save_file({n: v for n, v in state.items() if n != "visual.proj"}, whole)
    elif kind == "unexpected":
        save_file({**state, "visual.extra": torch.zeros(2)}, whole)
    elif kind == "missing, pickled":
        torch.save({n: v for n, v in state.items() if n != "visual.proj"}, bin)
    elif kind == "transposed":
        save_file({**state, "visual.proj": state["visual.proj"].T.contiguous()}, whole)
    elif kind == "code":
        torch.save({"state_dict": state, "extra": Code(folder / "ran")}, bin)
    elif kind == "a bare pickle with code":
        bin.write_bytes(pickle.dumps(Code(folder / "ran")))
    elif kind == "a whole model":
        torch.save(torch.nn.Linear(2, 2), bin)
    elif kind == "script":
        torch.jit.save(torch.jit.script(torch.nn.Linear(2, 2)), bin)
    elif kind == "pickled, cut short":
        torch.save(state, bin)
        bin.write_bytes(bin.read_bytes()[:-200])
    elif kind == "a list":
        torch.save([1, 2], bin)
    elif kind == "no tensors":
        torch.save({"state_dict": {"a": 1}}, bin)


@pytest.mark.filterwarnings("ignore")  # of torch, on TorchScript and old pickles
@pytest.mark.parametrize(
    "kind, loads, says",
    [
        ("absent", False, "not found, and nothing is downloaded here"),
        ("empty", False, "open_clip_model.safetensors: empty"),
        ("cut short", False, "cut short at"),
        ("cut in its header", False, "cut short at 100 bytes"),
        ("a page instead of weights", False, "damaged or cut short"),
        ("missing", False, "1 missing: visual.proj;"),
        ("unexpected", False, "1 unexpected: visual.extra;"),
        ("transposed", False, "visual.proj is (12, 16), in the model (16, 12)"),
        ("script", False, "TorchScript archive"),
        ("nan", True, "ln_final.weight holds numbers that are not finite"),
        ("infinite", True, "ln_final.weight holds numbers that are not finite"),
        ("missing, pickled", True, "1 missing: visual.proj;"),
        ("code", True, "holds more than weights"),
        ("a bare pickle with code", True, "holds more than weights"),
        ("a whole model", True, "holds more than weights"),
        ("pickled, cut short", True, "damaged"),
        ("a list", True, "no state dict"),
        ("no tensors", True, "no state dict"),
    ],
)
def test_weights_that_are_broken(folders, tmp_path, kind, loads, says):
    folder = shutil.copytree(folders["own"], tmp_path / "folder")
    broken(kind, load_file(folder / "open_clip_model.safetensors"), folder)
    assert says in refused(f"openclip:{folder}", loads)
    assert not (folder / "ran").exists()


def test_everything_that_is_missing_is_said_at_once(huggingface, tmp_path):
    folder = shutil.copytree(huggingface, tmp_path / "folder")
    for name in ("model.safetensors", "preprocessor_config.json", "tokenizer.json"):
        (folder / name).unlink()
    said = refused(f"huggingface:{folder}")
    assert all(part in said for part in ("model.safetensors", "preprocessor", "no tokenizer"))


def test_problems_reads_no_weights(folders, monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("weights were read")

    monkeypatch.setattr(weight_files, "tensors", refuse)
    assert pretrained.problems(f"openclip:{folders['vit']}") == []
