import json
import subprocess
import sys
from pathlib import Path

import pytest

import sixfold
from conftest import CONFIG


def test_callbacks_get_the_log(trained):
    run = Path(trained["result"].model).parent
    log = [json.loads(line) for line in (run / "train.jsonl").read_text().splitlines()]
    assert trained["progress"] == [entry for entry in log if "loss" in entry]
    assert trained["validation"] == [entry for entry in log if "validation" in entry]
    assert [e["update"] for e in trained["validation"]] == [10, 20]
    assert all({"loss", "perplexity", "bleu"} <= set(e["validation"]) for e in trained["validation"])
    assert set(trained["samples"][0][0]) >= {"input", "output", "reference"}
    assert trained["result"].updates == 20


def test_a_path_and_keywords_are_the_same_training(trained, corpus, tmp_path):
    (tmp_path / "mine.yaml").write_text(json.dumps({**CONFIG, "train": {"updates": 1}}))
    result = sixfold.train(tmp_path / "mine.yaml", output=tmp_path / "run", data=corpus, train=CONFIG["train"])
    weights = "model.safetensors"
    assert (Path(result.model) / weights).read_bytes() == (Path(trained["result"].model) / weights).read_bytes()


def test_an_exception_leaves_a_run_that_can_be_resumed(trained, corpus, tmp_path):
    def stop(entry):
        if entry["update"] >= 5:
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        sixfold.train(CONFIG, output=tmp_path / "run", data=corpus, on_progress=stop)
    assert not (tmp_path / "run/model").exists()
    result = sixfold.train(CONFIG, output=tmp_path / "run", data=corpus, resume=True)
    weights = "model.safetensors"
    assert (Path(result.model) / weights).read_bytes() == (Path(trained["result"].model) / weights).read_bytes()


def test_control_c_leaves_a_run_that_can_be_resumed(corpus, tmp_path):
    keys = {"data": corpus, "train": {**CONFIG["train"], "updates": 1_000_000}}
    program = ("import json, sixfold, sys\n"
               "config, keys, run = map(json.loads, sys.argv[1:])\n"
               "sixfold.train(config, output=run, on_progress=lambda entry: print('update', flush=True), **keys)\n")
    arguments = map(json.dumps, (CONFIG, keys, str(tmp_path / "run")))
    process = subprocess.Popen([sys.executable, "-c", program, *arguments], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "update\n"
    process.send_signal(2)
    _, errors = process.communicate(timeout=60)
    assert errors.strip().endswith("KeyboardInterrupt")
    assert list((tmp_path / "run/checkpoints").iterdir())


def test_errors_name_the_key(corpus, tmp_path):
    with pytest.raises(sixfold.Error, match="unknown key 'model.d_modl' .*d_model"):
        sixfold.train(CONFIG, output=tmp_path / "run", data=corpus, model={"d_modl": 3})
    with pytest.raises(sixfold.Error, match="train.updates: expected a whole number"):
        sixfold.train(CONFIG, output=tmp_path / "run", data=corpus, train={"updates": "many"})
    for wrong in (3, 0, [], False):
        with pytest.raises(TypeError, match="config is a"):
            sixfold.train(wrong, output=tmp_path / "run")
    with pytest.raises(TypeError):
        sixfold.train(CONFIG, output=None)
    (tmp_path / "text").write_text("a line of text\n")
    with pytest.raises(sixfold.Error, match="text:1: expected groups of keys"):
        sixfold.train(tmp_path / "text", output=tmp_path / "run", data=corpus, train={"updates": 1})
    with pytest.raises(TypeError, match="no argument 'resum'; did you mean 'resume'"):
        sixfold.train(CONFIG, output=tmp_path / "run", data=corpus, resum=True)
    with pytest.raises(TypeError, match="no argument 'callback'"):
        sixfold.train(CONFIG, output=tmp_path / "run", data=corpus, callback=print)
    with pytest.raises(UnicodeEncodeError):
        sixfold.train({"\ud800": 1}, output=tmp_path / "run")
    assert sixfold.train(CONFIG, output=tmp_path / "none", data=corpus, train=None).updates == 20
    with pytest.raises(sixfold.Error, match="keys that are str"):
        sixfold.train({1: 2}, output=tmp_path / "run")
    endless: list = []
    endless.append(endless)
    with pytest.raises(sixfold.Error, match="deeper than 32"):
        sixfold.train({"data": endless}, output=tmp_path / "run")
    assert not (tmp_path / "run").exists()
    assert sixfold.default_config()["train"]["updates"] == 0
    with pytest.raises(sixfold.Error):
        sixfold.default_config("nothing")


def test_progress_goes_to_logging(corpus, tmp_path, caplog, capfd):
    with caplog.at_level("INFO", logger="sixfold"):
        sixfold.train(CONFIG, output=tmp_path / "run", data=corpus)
    assert any(record.message.startswith("update 20/20") for record in caplog.records)
    assert capfd.readouterr().err == ""
