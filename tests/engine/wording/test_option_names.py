"""Messages call options as the face that the user called does."""

from __future__ import annotations

import threading

import pytest

from moxing.engine.wording import option_names, report


def test_names_hold_for_a_block_and_what_it_does_not_name_stays() -> None:
    with option_names.spoken({"log_dir": "output_dir", "limit": "epochs=5 ({} steps)"}):
        assert report.already_reached("out", 65, 65) == (
            "checkpoint in out is already at step 65 >= epochs=5 (65 steps);"
            " nothing to train: raise it or use another output_dir"
        )
        assert report.input_already_ended("out", 4).endswith(
            "another max_number_of_steps, or use another output_dir"
        )
    assert option_names.option("log_dir") == "log_dir"
    assert option_names.limit(65) == "max_number_of_steps 65"


def test_a_thread_keeps_the_names_of_the_thread_that_starts_it() -> None:
    heard: list[str] = []

    def hear(name: str) -> None:
        heard.append(option_names.option(name))

    with option_names.spoken({"log_dir": "output_dir"}):
        targets = [option_names.carried(hear), option_names.carried(hear), hear]
    threads = [threading.Thread(target=target, args=("log_dir",)) for target in targets]
    for thread in threads:
        thread.start()
        thread.join()
    assert heard == ["output_dir", "output_dir", "log_dir"]


def test_a_name_that_no_message_has_is_a_mistake() -> None:
    with pytest.raises(KeyError, match="max_steps"), option_names.spoken({"max_steps": "steps"}):
        pass
