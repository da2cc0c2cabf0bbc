"""The bodies of requests and responses, with the examples that OpenAPI shows."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from unirex.explanation import SELECTIONS, UNITS

Label = str | bool | int | float
FILM = "a gorgeous , witty , seductive film ."


def _names(names: tuple[str, ...]) -> dict[str, Any]:
    """The values that a name can have, for the schema; others are refused with these names listed."""
    return {"enum": [*names, None]}


Budget = Annotated[float, Field(gt=0, le=100, allow_inf_nan=False, strict=True)]
_WORDS = {"start": 2, "end": 10, "text": "gorgeous", "segment": 0}
_PREDICTION: dict[str, Any] = {
    "label": "pos",
    "probabilities": [{"label": "neg", "probability": 0.02}, {"label": "pos", "probability": 0.98}],
    "truncated": 0,
}
_EXPLAINED: dict[str, Any] = {
    **_PREDICTION,
    "explanations": [{"budget": 20.0, "spans": [_WORDS]}],
    "faithfulness": None,
}
_FAITHFULNESS: dict[str, Any] = {
    "budget": 20.0,
    "probability": 0.98,
    "without_rationale": 0.41,
    "rationale_alone": 0.95,
    "comprehensiveness": 0.57,
    "sufficiency": 0.03,
    "floor": {
        "draws": 5,
        "without_rationale": 0.93,
        "rationale_alone": 0.61,
        "comprehensiveness": 0.05,
        "sufficiency": 0.37,
    },
}


class Body(BaseModel):
    """A body of a request: a field that does not exist is an error."""

    model_config = ConfigDict(extra="forbid", protected_namespaces=())


class Parts(Body):
    """A text of several parts, or one with choices."""

    text: str | None = None
    text_pair: str | None = None
    segments: list[str] | None = None
    choices: list[str] | None = None

    def plain(self) -> dict[str, Any]:
        """Only what was given."""
        return self.model_dump(exclude_none=True)


Text = str | list[str] | Parts  # a list is a pair or more that belong together


class PredictBody(Body):
    """Texts to classify."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"inputs": FILM},
                {"inputs": [FILM, "dull ."], "model": "slm", "truncate": True},
                {"inputs": [["A man sleeps.", "A man is awake."]]},
                {"inputs": [{"text": "Where do fish live?", "choices": ["sea", "sky"]}]},
            ]
        }
    )

    inputs: Annotated[
        str | Parts | list[Text],
        Field(description="one text, or a list; in a list a list of strings is a pair or more"),
    ]
    model: Annotated[str | None, Field(description="name of a system; default: the first")] = None
    truncate: Annotated[
        bool, Field(description="cut texts that are too long; otherwise they are refused with 413")
    ] = False

    def texts(self) -> list[Any]:
        """The texts as `System.explain` takes them, always a list."""
        return plain_texts(self.inputs if isinstance(self.inputs, list) else [self.inputs])


class Asked(Body):
    """How a text is explained."""

    budget: Annotated[
        Budget | Literal["all"] | None,
        Field(description="size of the rationale in per cent of the tokens, or all of the system's budgets"),
    ] = None
    budgets: Annotated[list[Budget] | None, Field(description="several sizes", min_length=1)] = None
    selector: Annotated[
        str | None, Field(description="which tokens a budget keeps", json_schema_extra=_names(SELECTIONS))
    ] = None
    unit: Annotated[
        str | None, Field(description="what the rationale is made of", json_schema_extra=_names(UNITS))
    ] = None
    target: Annotated[Label | None, Field(description="label to give reasons for; default: predicted")] = None
    contrast: Annotated[
        tuple[Label, Label] | None, Field(description="reasons for the first label rather than the second")
    ] = None
    extractor: Annotated[str | None, Field(description="another extractor, of those `/info` lists")] = None
    dial: Annotated[
        float | None,
        Field(
            description="of systems with two scores: 0 as a person would mark, 1 as the classifier went by",
            ge=0,
            le=1,
            allow_inf_nan=False,
            strict=True,
        ),
    ] = None
    faithfulness: Annotated[
        bool, Field(description="also comprehensiveness and sufficiency of this rationale for this text")
    ] = False
    floor: Annotated[
        int,
        Field(description="also the mean over this many random rationales of the same size", ge=0, le=10),
    ] = 0

    @model_validator(mode="after")
    def _one_size(self) -> Asked:
        if self.budget is not None and self.budgets is not None:
            raise ValueError("give budget or budgets, not both")
        return self


class ExplainBody(PredictBody, Asked):
    """Texts to classify and explain."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"inputs": FILM, "budget": 20},
                {"inputs": [FILM, "dull ."], "budget": "all", "faithfulness": True, "floor": 5},
                {"inputs": FILM, "target": "neg", "extractor": "integrated-gradients", "unit": "token"},
            ]
        }
    )


class InstancesBody(Body):
    """Texts, as KServe's protocol v1 puts them."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"instances": [FILM, "dull ."], "parameters": {"truncate": True}}]}
    )

    instances: list[Text]
    parameters: Parameters | None = None

    def texts(self) -> list[Any]:
        """The texts as `System.explain` takes them."""
        return plain_texts(self.instances)


class Parameters(Asked):
    """Options of a KServe request; those of an explanation have no effect on a prediction."""

    truncate: bool = False


def plain_texts(inputs: list[Text]) -> list[Any]:
    """Texts of a body as `System.explain` takes them."""
    return [text.plain() if isinstance(text, Parts) else text for text in inputs]


class SomeExamples(Body):
    """Which examples to predict."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"model": "slm", "start": 64}]})

    model: Annotated[str | None, Field(description="name of a system; default: the first")] = None
    start: Annotated[int, Field(description="number of the first", ge=0)] = 0


class ExampleHead(BaseModel):
    """The beginning of an example."""

    number: int
    id: str
    label: Label | list[Label] | None
    head: Annotated[str, Field(description="the first characters of its text")]
    marked: Annotated[bool, Field(description="whether people marked their reasons in it")]


class ExampleHeads(BaseModel):
    """The examples of the server, a part of them at a time."""

    name: Annotated[str | None, Field(description="of the dataset; null: there is none")]
    total: int
    examples: list[ExampleHead]


class WholeExample(BaseModel):
    """An example with what people marked: spans of characters, end-exclusive, for each segment."""

    number: int
    id: str
    segments: list[str]
    choices: list[str] | None
    label: Label | list[Label] | None
    rationale: list[list[Annotated[list[int], Field(min_length=2, max_length=2)]]] | None


class ExamplePredictions(BaseModel):
    """Labels of some examples from the asked one on; null for one that is too long to predict here."""

    model: str
    start: int
    labels: list[Label | list[Label] | None]


class Error(BaseModel):
    """Why there is no answer."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"error": "too much is waiting; try again in 3 s.", "error_type": "overloaded"}]
        }
    )

    error: str
    error_type: str


class LabelProbability(BaseModel):
    """A label and how probable it is."""

    label: Label
    probability: float


class Prediction(BaseModel):
    """The answer to one text."""

    model_config = ConfigDict(json_schema_extra={"examples": [_PREDICTION]})

    label: Label | list[Label]
    probabilities: list[LabelProbability]
    truncated: Annotated[int, Field(description="tokens that were left out")]


class Floor(BaseModel):
    """The same figures for random rationales of the same size, on average."""

    draws: int
    without_rationale: float
    rationale_alone: float
    comprehensiveness: float
    sufficiency: float


class Faithfulness(BaseModel):
    """How the probability of the explained label hangs on one rationale."""

    model_config = ConfigDict(json_schema_extra={"examples": [_FAITHFULNESS]})

    budget: float
    probability: float
    without_rationale: float
    rationale_alone: float
    comprehensiveness: float
    sufficiency: float
    floor: Floor | None


class Explained(Prediction):
    """The answer to one text with its reasons, one explanation for each budget."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXPLAINED]})

    explanations: Annotated[
        list[dict[str, Any]], Field(description="as `unirex explain --json` prints: spans, words, tokens, …")
    ]
    faithfulness: list[Faithfulness] | None


class Predictions(BaseModel):
    """The answers to the texts of a request, in their order."""

    model: str
    results: list[Prediction]


class Explanations(BaseModel):
    """The answers to the texts of a request, in their order."""

    model: str
    results: list[Explained]


class KServePredictions(BaseModel):
    """The answers, as KServe's protocol v1 puts them."""

    predictions: list[Prediction]


class KServeExplanations(BaseModel):
    """The answers with their reasons, as KServe's protocol v1 puts them."""

    explanations: list[Explained]


InstancesBody.model_rebuild()
