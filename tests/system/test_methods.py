"""Every method, end to end: it learns the planted word, and what it was trained for shows."""

import pytest
import yaml
from safetensors.torch import load_file, save_file

import unirex
from planted import planted
from unirex.errors import UserError
from unirex.methods import method_names, method_settings, resolve

TRAINING = {"epochs": 8, "learning_rate": 4e-3, "batch_size": 16, "patience": 8}


@pytest.fixture(scope="session")
def fitted(learner):
    """`fitted(method)` is a system trained on the planted corpus and its results on test, made once."""
    made = {}

    def build(method: str):
        if method not in made:
            data = planted()
            system = unirex.fit(
                method, data, encoder=str(learner), pooling="mean", training=TRAINING, progress=False
            )
            made[method] = system, unirex.evaluate(system, data["test"])
        return made[method]

    return build


@pytest.mark.parametrize("method", method_names())
def test_every_method_learns_the_planted_word(fitted, method):
    _, results = fitted(method)
    assert results.metrics["accuracy"] >= 0.9


@pytest.mark.parametrize("method", [name for name in method_names() if name.endswith(("-p", "-fp"))])
def test_plausibility_methods_find_what_was_marked(fitted, method):
    _, results = fitted(method)
    floor = results.rows[f"{method}: random scores"]
    # Attributions are nudged by second derivatives, not trained token by token.
    assert results.metrics["auprc"] >= (0.9 if "lm" in method else floor["auprc"] + 0.2)


@pytest.mark.parametrize("method", [name for name in method_names() if name.endswith(("-f", "-fp"))])
def test_faithfulness_methods_use_what_they_name(fitted, method):
    _, results = fitted(method)
    floor = results.rows[f"{method}: random scores"]
    assert results.metrics["csd"] >= floor["csd"] + 0.15


def test_faithfulness_training_raises_csd_over_the_plain_classifier(fitted):
    assert fitted("aa-f")[1].metrics["csd"] > fitted("vanilla")[1].metrics["csd"]


@pytest.mark.parametrize("method", method_names())
def test_a_system_comes_back_as_it_was_saved(fitted, method, tmp_path):
    system, _ = fitted(method)
    system.save_pretrained(tmp_path / "saved")
    text = "the film is good and long"
    assert unirex.load(tmp_path / "saved").explain(text) == system.explain(text)
    assert not list((tmp_path / "saved").glob("*.bin"))


def test_the_same_seed_gives_the_same_weights(learner):
    data = planted((48, 16, 16))
    settings = {"encoder": str(learner), "training": TRAINING | {"epochs": 1}, "progress": False}
    one, two = (unirex.fit("slm-fp", data, **settings, budgets_per_step=1) for _ in range(2))
    for a, b in zip(one.model.state_dict().values(), two.model.state_dict().values(), strict=True):
        assert a.equal(b)


@pytest.mark.parametrize("method", method_names())
def test_every_method_file_is_a_small_diff_that_builds(method):
    settings = method_settings(method)
    assert settings["about"].strip()
    assert len(yaml.safe_dump(settings)) < 500
    assert resolve(method, None, {}).extractor == settings["extractor"]


def test_settings_come_from_defaults_method_file_and_caller_in_this_order(tmp_path):
    (tmp_path / "mine.yaml").write_text("seed: 3\ntraining: {epochs: 7, clip: 1.0}\n")
    config = resolve("slm-fp", tmp_path / "mine.yaml", {"training": {"epochs": 2}})
    assert (config.seed, config.training.epochs, config.training.clip) == (3, 2, 1.0)
    assert config.objectives.sufficiency.weight == 0.5  # the method's
    assert config.training.batch_size == 32  # the default


def test_another_extractor_inherits_the_options_it_knows():
    assert resolve("aa-fp", None, {"extractor": "gradient"}).extractor_options == {"create_graph": True}
    assert resolve("aa-fp", None, {"extractor": "deeplift"}).extractor_options == {}
    assert resolve("aa-fp", None, {}).extractor_options == {"create_graph": True}


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"trainin": {}}, "did you mean 'training'"),
        ({"training": {"epoch": 3}}, "did you mean 'training.epochs'"),
        (
            {"objectives": {"sufficiency": {"critereon": "kl"}}},
            "did you mean 'objectives.sufficiency.criterion'",
        ),
        ({"objectives": {"sufficiency": {"criterion": "kk"}}}, "kk"),
        ({"training": {"epochs": "many"}}, "training.epochs"),
        ({"budgets": [0]}, "budgets"),
        ({"budgets_per_step": 9}, "budgets_per_step 9"),
        ({"training": {"epochs": 0}}, "training.epochs 0"),
    ],
)
def test_a_wrong_setting_is_named(settings, said):
    with pytest.raises(UserError, match=said):
        resolve("slm-fp", None, settings)


def test_an_unknown_method_names_the_nearest():
    with pytest.raises(UserError, match="did you mean 'slm-fp'"):
        unirex.fit("slmfp", planted((8, 4, 4)))


def test_plausibility_without_gold_is_refused_before_training(learner):
    data = planted((8, 4, 4))
    bare = {
        name: tuple(unirex.Example(e.id, e.segments, e.label) for e in part) for name, part in data.items()
    }
    with pytest.raises(UserError, match="no gold rationales"):
        unirex.fit("slm-fp", unirex.Splits(data.info, bare), encoder=str(learner))


@pytest.mark.parametrize(
    ("method", "settings", "said"),
    [
        ("vanilla", {"extractor": "shared-lm"}, "has to learn"),
        ("vanilla", {"extractor_options": {"pooling": "mlp-8-1"}}, "has to learn"),
        ("slm-fp", {"extractor": "random"}, "cannot learn plausibility"),
        ("aa-fp", {"extractor": "gradient", "extractor_options": {"create_graph": False}}, "create_graph"),
        ("aa-f", {"extractor_options": {"steps": 0}}, "steps 0"),
        ("slm-fp", {"extractor_options": {"dropout": 0.1}}, "MLP heads"),
        ("vanilla", {"max_length": 4000}, "max_length 4000"),
        ("vanilla", {"training": {"precision": "foo"}}, "training: "),
        ("vanilla", {"training": {"learning_rate": -1}}, "learning_rate -1"),
        ("vanilla", {"training": {"devices": 2, "accelerator": "cpu"}}, "needs a folder"),
    ],
)
def test_settings_that_would_do_nothing_or_fail_later_are_refused(learner, method, settings, said):
    with pytest.raises(UserError, match=said):
        unirex.fit(method, planted((8, 4, 4)), encoder=str(learner), **settings)


def test_a_trained_system_is_no_encoder(fitted, tmp_path):
    fitted("vanilla")[0].save_pretrained(tmp_path / "run")
    with pytest.raises(UserError, match="is a trained unirex system"):
        unirex.fit("vanilla", planted((8, 4, 4)), encoder=str(tmp_path / "run"))


def test_weights_that_are_not_there_are_said(fitted, tmp_path):
    fitted("slm-fp")[0].save_pretrained(tmp_path / "run")
    weights = load_file(tmp_path / "run/model.safetensors")
    kept = {name: value for name, value in weights.items() if "task.head" not in name}
    save_file(kept, tmp_path / "run/model.safetensors", {"format": "pt"})
    with pytest.raises(UserError, match="missing"):
        unirex.load(tmp_path / "run")


def test_another_extractor_has_its_own_name(fitted):
    assert fitted("slm-p")[0].with_extractor("gradient").name == "slm-p + gradient"
    assert fitted("vanilla")[0].with_extractor("deeplift").name == "vanilla + deeplift"


def test_class_weights_must_fit_the_labels(learner):
    with pytest.raises(UserError, match="3 weights for 2 labels"):
        unirex.fit("vanilla", planted((8, 4, 4)), encoder=str(learner), class_weights=[1, 1, 1])
