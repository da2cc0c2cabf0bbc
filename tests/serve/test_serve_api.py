"""Every route answers as the library does, and says what it cannot answer."""

import json

import pytest

import tiny
from unirex.evaluation.recording import batch_records
from unirex.evaluation.values import faithfulness_values
from unirex.explanation import Explanation

TEXTS = [*tiny.SENTENCES[:5], "dull ."]


def close(one, other):
    """Plain values that are equal up to rounding."""
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        for key in one:
            close(one[key], other[key])
    elif isinstance(one, list | tuple):
        assert len(one) == len(other)
        for left, right in zip(one, other, strict=True):
            close(left, right)
    elif isinstance(one, float):
        assert one == pytest.approx(other, abs=1e-5)
    else:
        assert one == other


def explained(ask, **body):
    response = ask.post("/explain", json=body)
    assert response.status_code == 200, response.text
    return response.json()["results"]


def test_predict_answers_as_the_library_does(ask, served_systems):
    response = ask.post("/predict", json={"inputs": TEXTS, "model": "vanilla"})
    body, system = response.json(), served_systems["vanilla"]
    assert response.status_code == 200 and body["model"] == "vanilla"
    assert [result["label"] for result in body["results"]] == system.predict(TEXTS)
    rows = [[entry["probability"] for entry in result["probabilities"]] for result in body["results"]]
    close(rows, system.predict_proba(TEXTS).tolist())
    assert ask.post("/predict", json={"inputs": TEXTS[0]}).json()["model"] == "slm"  # the first


OPTIONS = [
    ("slm", {}),
    ("slm", {"budget": 50, "unit": "token"}),
    ("slm", {"budget": 30, "unit": "sentence"}),
    ("slm", {"selector": "best-span"}),
    ("slm", {"extractor": "occlusion", "target": "neg"}),
    ("vanilla", {"target": "pos"}),
    ("vanilla", {"contrast": ["neg", "pos"]}),
    ("vanilla", {"extractor": "attention"}),
    ("sets", {"budget": 40}),
    ("rationale", {}),
]


@pytest.mark.parametrize(("model", "options"), OPTIONS, ids=str)
def test_explain_answers_as_the_library_does(ask, served_systems, model, options):
    system, wanted = served_systems[model], dict(options)
    if extractor := wanted.pop("extractor", None):
        system = system.with_extractor(extractor)
    if "contrast" in wanted:
        wanted["contrast"] = tuple(wanted["contrast"])
    offline = system.explain(TEXTS, **wanted)
    found = explained(ask, inputs=TEXTS, model=model, **options)
    for result, explanation in zip(found, offline, strict=True):
        (plain,) = result["explanations"]
        close(plain, json.loads(json.dumps(explanation.to_dict())))
        assert Explanation.from_dict(plain).spans == explanation.spans


def test_pairs_and_choices(ask, served_systems):
    pairs = [("a film", "not good"), ("dull", "the plot is thin")]
    found = explained(ask, inputs=[list(pairs[0]), {"text": pairs[1][0], "text_pair": pairs[1][1]}])
    offline = served_systems["slm"].explain(pairs)
    close([result["explanations"][0]["spans"] for result in found], [e.to_dict()["spans"] for e in offline])
    questions = [
        {"text": "a film", "choices": ["good", "bad", "dull"]},
        {"text": "dull", "choices": ["a", "b"]},
    ]
    found = explained(ask, inputs=questions, model="choices", faithfulness=True, unit="sentence")
    offline = served_systems["choices"].explain(questions, unit="sentence")
    for result, explanation in zip(found, offline, strict=True):
        close(result["explanations"][0], json.loads(json.dumps(explanation.to_dict())))
        assert len(result["probabilities"]) == len(explanation.choices)
    one = explained(ask, inputs=questions[0], model="choices")
    close(one[0]["explanations"], explained(ask, inputs=[questions[0]], model="choices")[0]["explanations"])


def test_faithfulness_is_that_of_evaluation(ask, served_systems):
    """Of learnt scores, every budget, to the last budget of every text."""
    system = served_systems["slm"]
    found = explained(ask, inputs=TEXTS, budget="all", faithfulness=True)

    def records(examples, encoded, batch):
        step = system.model.step(batch, removal=system.model.evaluated_removal)
        return batch_records(step, examples, encoded, system.label_names)

    from unirex.system import as_example

    for result, record in zip(
        found, system.stream((as_example(text, n) for n, text in enumerate(TEXTS)), records), strict=True
    ):
        values = faithfulness_values(record)
        assert [entry["budget"] for entry in result["faithfulness"]] == list(system.model.config.budgets)
        for entry in result["faithfulness"]:
            for name in ("comprehensiveness", "sufficiency"):
                assert entry[name] == pytest.approx(values[f"{name}@{entry['budget']:g}"], abs=1e-5)


def test_faithfulness_of_whole_texts_sentences_and_systems_that_read_their_rationale(ask):
    (whole,) = explained(ask, inputs="a good film", budget=100, faithfulness=True)
    assert whole["faithfulness"][0]["sufficiency"] == pytest.approx(0, abs=1e-6)
    text = "a good film . the plot is dull ."
    (sentences,) = explained(ask, inputs=text, budgets=[10, 100], unit="sentence", faithfulness=True)
    assert sentences["faithfulness"][1]["rationale_alone"] == pytest.approx(
        sentences["faithfulness"][1]["probability"], abs=1e-6
    )
    (own,) = explained(ask, inputs=text, model="rationale", faithfulness=True)
    assert own["faithfulness"][0]["sufficiency"] == pytest.approx(0, abs=1e-6)
    assert explained(ask, inputs=text)[0]["faithfulness"] is None


def test_truncation_is_asked_for(ask, served_systems):
    long = "a film " * 200
    response = ask.post("/predict", json={"inputs": ["dull", long]})
    assert response.status_code == 413 and "text 1 is" in response.json()["error"]
    result = ask.post("/predict", json={"inputs": long, "truncate": True}).json()["results"][0]
    assert result["truncated"] == served_systems["slm"].explain(long).truncated > 0


def test_kserve(ask, served_systems):
    assert ask.get("/v1/models").json() == {"models": list(served_systems)}
    assert ask.get("/v1/models/slm").json() == {"name": "slm", "ready": True}
    predictions = ask.post("/v1/models/slm:predict", json={"instances": TEXTS}).json()["predictions"]
    assert [entry["label"] for entry in predictions] == served_systems["slm"].predict(TEXTS)
    body = {"instances": TEXTS, "parameters": {"budget": 50, "truncate": True}}
    found = ask.post("/v1/models/slm:explain", json=body).json()["explanations"]
    close(found, explained(ask, inputs=TEXTS, budget=50))
    assert ask.get("/v2/health/live").json() == {"live": True}
    assert ask.get("/v2/health/ready").json() == {"ready": True}
    assert ask.get("/v2/models/slm/ready").json() == {"name": "slm", "ready": True}
    assert ask.get("/v2").json()["name"] == "unirex"
    for path in ("/v1/models/other", "/v2/models/other/ready"):
        assert ask.get(path).status_code == 404
    assert ask.post("/v1/models/other:predict", json={"instances": ["a"]}).status_code == 404


def test_a_model_of_a_server_that_stops_is_not_ready(ask, monkeypatch):
    monkeypatch.setattr(ask.service.batcher, "stopping", True)
    for path in ("/v1/models/slm", "/v2/models/slm/ready", "/v2/health/ready"):
        response = ask.get(path)
        assert response.status_code == 503 and response.json()["error_type"] == "unavailable"
    assert ask.get("/v2/models/other/ready").status_code == 404


def test_info_and_health(ask, served_systems):
    info = ask.get("/info").json()
    assert [model["name"] for model in info["models"]] == list(served_systems)
    assert info["models"][0]["labels"] == ["neg", "pos"] and info["limits"]["inputs"] == 64
    assert info["models"][0]["extractors"][0] == "shared-lm"
    assert info["models"][-1]["extractors"] == ["shared-lm"]  # it predicts from that rationale
    assert "/" not in info["models"][0]["encoder"]
    assert [ask.get(f"/health{path}").status_code for path in ("", "/live", "/ready")] == [200] * 3


def test_metrics(ask):
    explained(ask, inputs=TEXTS, model="vanilla")
    assert ask.get("/some/path/of/a/stranger").status_code == 404
    text = ask.get("/metrics").text
    for line in (
        'unirex_requests_total{method="POST",route="/explain",status="200"}',
        'unirex_batch_texts_bucket{le="8.0",model="vanilla"}',
        'unirex_tokens_total{model="vanilla"}',
        'route="unmatched"',
        "unirex_queue_texts 0.0",
        'unirex_request_seconds_count{route="/explain"}',
    ):
        assert line in text
    assert "stranger" not in text


def test_openapi_has_examples_that_are_answered(ask):
    schema = ask.get("/openapi.json").json()
    names, references = schema["components"]["schemas"], []

    def collect(part):
        if isinstance(part, dict):
            references.extend([part["$ref"]] if "$ref" in part else [])
            part = list(part.values())
        if isinstance(part, list):
            for entry in part:
                collect(entry)

    collect(schema)
    assert schema["openapi"].startswith("3.1") and references
    assert all(reference.rpartition("/")[2] in names for reference in references)
    operations = [
        (path, method, operation)
        for path, methods in schema["paths"].items()
        for method, operation in methods.items()
    ]
    assert len({operation["operationId"] for _, _, operation in operations}) == len(operations)
    answered = 0
    for path, method, operation in operations:
        if method == "post":
            for status in ("400", "413", "422", "429", "503"):
                assert operation["responses"][status]["content"]["application/json"]["schema"][
                    "$ref"
                ].endswith("Error")
            body = operation["requestBody"]["content"]["application/json"]["schema"]["$ref"]
            for example in names[body.rpartition("/")[2]]["examples"]:
                choices = "choices" in json.dumps(example)
                if choices:
                    example = {**example, "model": "choices"}
                elif "target" in example:
                    example = {**example, "model": "vanilla"}
                response = ask.post(path.replace("{name}", "slm"), json=example)
                assert response.status_code == 200, response.text
                answered += 1
    assert answered >= 8


def test_the_page_of_the_api_needs_no_other_server(ask):
    response = ask.get("/docs")
    assert response.headers["content-type"].startswith("text/html")
    assert "POST /explain" in response.text and "comprehensiveness" in response.text
    assert (
        "http://" not in response.text and "https://" not in response.text and "<script" not in response.text
    )
    assert "default-src 'none'" in response.headers["content-security-policy"]


def test_further_routers_find_the_service(served_systems, make_client):
    from fastapi import APIRouter, Request

    router = APIRouter()

    @router.get("/names")
    async def names(request: Request):
        return list(request.app.state.service.systems)

    with make_client({"slm": served_systems["slm"]}, routers=[router]) as asking:
        assert asking.get("/names").json() == ["slm"]


def test_the_floor_is_of_random_rationales_of_the_same_size(ask):
    body = {"inputs": TEXTS[:2], "budgets": [20, 100], "faithfulness": True, "floor": 4}
    first, _ = explained(ask, **body)
    (alone,) = explained(ask, **{**body, "inputs": TEXTS[:1]})
    close(first["faithfulness"], alone["faithfulness"])  # whatever runs beside it
    small, whole = first["faithfulness"]
    assert small["floor"]["draws"] == 4 and small["floor"]["rationale_alone"] != small["rationale_alone"]
    everything = {"draws": 4} | {name: value for name, value in whole.items() if name in whole["floor"]}
    close(whole["floor"], everything)  # of all tokens there is only one rationale
    assert explained(ask, **{**body, "floor": 0})[1]["faithfulness"][0]["floor"] is None
    for wrong in ({"inputs": "dull", "floor": 2}, {**body, "floor": 99}):
        assert ask.post("/explain", json=wrong).status_code == 422


def test_the_dial_is_turned_for_a_request(ask, served_systems):
    system = served_systems["two-scores"]
    for dial in (0, 0.5, 1.0):
        (found,) = explained(ask, inputs=TEXTS[0], model="two-scores", dial=dial)
        close(found["explanations"][0]["tokens"], plain(system.explain(TEXTS[0], dial=dial))["tokens"])
    infos = {model["name"]: model for model in ask.get("/info").json()["models"]}
    assert infos["two-scores"]["dial"] == 0.3 and infos["slm"]["dial"] is None
    assert "shared-lm" in infos["two-scores"]["by_label"] and "shared-lm" not in infos["slm"]["by_label"]
    for wrong in ({"dial": 2}, {"dial": 0.5, "model": "slm"}, {"dial": 0.5, "extractor": "lime"}):
        response = ask.post("/explain", json={"inputs": "dull", "model": "two-scores", **wrong})
        assert response.status_code == 422 and "dial" in response.json()["error"]


def plain(explanation):
    return json.loads(json.dumps(explanation.to_dict()))


def test_examples_are_listed_shown_and_predicted_in_parts(served_systems, make_client):
    from unirex.serve.examples import Examples
    from unirex.serve.settings import Limits, Settings

    items = tiny.examples()
    few = Settings(limits=Limits(inputs=3, tokens=40))
    with make_client({"slm": served_systems["slm"]}, few, dataset=Examples("tiny", items)) as asking:
        heads = asking.get("/examples?start=1&count=2").json()
        assert (heads["name"], heads["total"]) == ("tiny", len(items))
        assert [head["id"] for head in heads["examples"]] == ["1", "2"] and heads["examples"][0]["marked"]
        whole = asking.get("/examples/1").json()
        assert whole["segments"] == [items[1].text] and whole["rationale"] == [
            [list(items[1].rationale[0][0])]
        ]
        assert asking.get("/examples/99").status_code == 404
        labels = []
        while len(labels) < len(items):
            found = asking.post("/examples/predictions", json={"start": len(labels)}).json()["labels"]
            assert 0 < len(found) <= 8
            labels += found
        known = served_systems["slm"].predict([example.text for example in items])
        assert all(label in (None, right) for label, right in zip(labels, known, strict=True))
        assert None in labels and any(labels)  # some have more tokens than a request may have
        assert asking.post("/examples/predictions", json={"start": 99}).json()["labels"] == []


def test_without_data_there_are_no_examples(ask):
    assert ask.get("/examples").json() == {"name": None, "total": 0, "examples": []}
