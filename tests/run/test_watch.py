"""Waiting for a long call: what it gives and what it raises comes back as if called directly."""

from __future__ import annotations

import threading
import time

import pytest

from deepsteiner.run.monitor import Monitor
from deepsteiner.run.watch import Stopped, Watch, waited


@pytest.mark.parametrize("error", [TimeoutError, ValueError, KeyboardInterrupt, Stopped])
@pytest.mark.parametrize("pause", [0.0, 0.1])
def test_what_a_call_raises_is_raised_here(error, pause):
    """A time-out of the call itself is not taken for one of the waiting."""
    asked = []

    def call():
        time.sleep(pause)
        raise error("from the call")

    def go_on() -> bool:
        asked.append(1)
        return len(asked) < 100

    with pytest.raises(error, match="from the call"):
        waited(call, go_on)
    assert len(asked) < 100


def test_a_call_runs_elsewhere_and_only_if_someone_is_patient():
    here = threading.get_ident()
    patient, direct = Watch(Monitor()), Watch(Monitor(), patient=False)
    assert patient.wait("call", threading.get_ident) != here
    assert direct.wait("call", threading.get_ident) == here


@pytest.mark.parametrize("patient", [True, False])
def test_a_stopped_run_begins_no_call(patient):
    begun = []
    watch = Watch(Monitor(on_progress=lambda progress: False), patient=patient)
    with pytest.raises(Stopped):
        watch.wait("call", lambda: begun.append(1))
    assert not begun
    assert watch.monitor.stop_reason == "interrupted"
