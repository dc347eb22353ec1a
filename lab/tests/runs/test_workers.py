"""Worker processes survive errors and exits of their tasks."""

from pellucid_lab.runs.workers import run_all


def test_a_task_that_raises_or_kills_its_process_costs_nothing_else() -> None:
    # `eval` because a fresh process can import it: it cannot import this file.
    raises, dies, works = "1 / 0", "__import__('os')._exit(7)", "__import__('os').environ['OMP_NUM_THREADS']"
    outcomes = {finished.task: finished.outcome for finished in run_all(eval, [raises, dies, works], 1)}
    assert outcomes[raises].error == "ZeroDivisionError: division by zero"
    assert "Traceback" in outcomes[raises].trace
    assert "exit code 7" in outcomes[dies].error
    assert outcomes[works].value == "1"
