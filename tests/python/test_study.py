from pathlib import Path

import numpy as np
import pytest
from conftest import CONFIG

import sixfold


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


@pytest.mark.parametrize("heads, causal", [(1, False), (2, False), (2, True)])
def test_attention_is_that_of_the_paper(heads, causal):
    random = np.random.default_rng(1)
    q, k, v = random.normal(size=(5, 6)), random.normal(size=(5, 6)), random.normal(size=(5, 4))
    output, weights = sixfold.attention(q, k, v, heads=heads, causal=causal)
    for head, (a, b, c) in enumerate(zip(*(np.split(x, heads, axis=1) for x in (q, k, v)))):
        scores = a @ b.T / np.sqrt(a.shape[1])
        wanted = softmax(np.where(np.tri(5, dtype=bool), scores, -np.inf) if causal else scores)
        assert np.allclose(weights[head], wanted, atol=1e-12)
        assert np.allclose(np.split(output, heads, axis=1)[head], wanted @ c, atol=1e-12)


def test_attention_refuses_other_shapes():
    for q, k, v, heads in [((2, 3), (4, 2), (4, 2), 1), ((2, 3), (4, 3), (3, 3), 1), ((2, 3), (4, 3), (4, 3), 2),
                           ((3,), (4, 3), (4, 3), 1), ((0, 3), (4, 3), (4, 3), 1), ((2, 3), (4, 3), (4, 3), 0)]:
        with pytest.raises(sixfold.Error, match="expected q"):
            sixfold.attention(np.zeros(q), np.zeros(k), np.zeros(v), heads=heads)


def test_position_encodings_are_those_of_the_paper():
    position, i = np.arange(7)[:, None], np.arange(4)
    angles = position / 10000 ** (2 * i / 8)
    wanted = np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(7, 8)
    found = sixfold.position_encodings(7, 8)
    assert np.allclose(found, wanted, atol=1e-6)
    for positions, d_model in [(0, 8), (1 << 40, 8), (7, 0), (7, 5), (7, 1 << 20)]:
        with pytest.raises(sixfold.Error, match="position_encodings: expected"):
            sixfold.position_encodings(positions, d_model)


def test_cosine():
    assert sixfold.cosine([1e200, 1e200], [1e200, 0]) == pytest.approx(0.5**0.5)
    assert sixfold.cosine([0.1] * 7, [0.1] * 7) <= 1 and sixfold.cosine([0, 0], [1, 2]) == 0
    with pytest.raises(sixfold.Error, match="two vectors of one size"):
        sixfold.cosine([1, 2], [1, 2, 3])


def test_a_model_can_be_followed_with_numpy(trained):
    """The first layer of the encoder, computed again from weights and the states that it read."""
    translator = sixfold.Translator(trained["result"].model, threads=1)
    tokenizer = sixfold.Tokenizer(trained["result"].model)
    ids = tokenizer.encode("ab cd ef") + [tokenizer.eos]
    seen = translator.states(source=ids, target=[tokenizer.bos] + ids[:-1])
    assert "array[2, 4, 4]" in repr(seen) and len(repr(seen)) < 1000
    assert seen.encoder.shape == (3, 4, 16) and seen.decoder.shape == (3, 4, 16)
    assert set(seen.attention) == {(kind, layer) for kind in ("encoder", "decoder", "cross") for layer in (0, 1)}
    weights = translator.weights()
    attention = "encoder.layers.0.self_attn."

    def linear(x, name):
        return x @ weights[name + ".weight"].T + weights.get(name + ".bias", 0)

    x = seen.encoder[0]
    q, k, v = (linear(x, attention + name) for name in ("q_proj", "k_proj", "v_proj"))
    mixed, found = sixfold.attention(q, k, v, heads=2)
    assert np.allclose(found, seen.attention["encoder", 0], atol=1e-5)

    def norm(x, name):
        centered = x - x.mean(axis=-1, keepdims=True)
        scaled = centered / np.sqrt((centered**2).mean(axis=-1, keepdims=True) + 1e-5)
        return scaled * weights[name + ".weight"] + weights[name + ".bias"]

    names = [name for name in weights if name.startswith("encoder.layers.0.")]
    x = norm(x + linear(mixed, attention + "out_proj"), "encoder.layers.0.self_attn_layer_norm")
    inner = np.maximum(linear(x, "encoder.layers.0.fc1"), 0)
    x = norm(x + linear(inner, "encoder.layers.0.fc2"), "encoder.layers.0.final_layer_norm")
    assert np.allclose(x, seen.encoder[1], atol=1e-4), names


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_the_example_of_the_documentation(norm, corpus, tmp_path, monkeypatch):
    pre = {"preprocess": ["norm"], "postprocess": ["dropout", "add"], "postprocess_top": ["norm"]}
    model = CONFIG["model"] | (pre if norm == "pre" else {})
    sixfold.train(CONFIG, output=tmp_path / "run", model=model, data=corpus, train={"updates": 5})
    monkeypatch.chdir(tmp_path)
    page = (Path(__file__).parents[2] / "docs/python.md").read_text()
    exec(page.split("```python\n")[-1].split("```")[0], {"sixfold": sixfold})


def test_weights_are_the_memory_of_the_model(trained):
    translator = sixfold.Translator(trained["result"].model)
    weights = translator.weights()
    for name, array in weights.items():
        assert np.shares_memory(array, translator.weights()[name])
        with pytest.raises(ValueError):
            array[...] = 0
    del translator  # they stay
    assert all(np.isfinite(array).all() for array in weights.values())


def test_states_refuse_what_the_model_has_not_got(trained):
    translator = sixfold.Translator(trained["result"].model)
    with pytest.raises(sixfold.Error, match="an encoder"):
        translator.states(target=[1])
    with pytest.raises(sixfold.Error):
        translator.states(source=[1 << 20], target=[1])
    with pytest.raises(sixfold.Error, match="no ids"):
        translator.states(source=[], target=[])
