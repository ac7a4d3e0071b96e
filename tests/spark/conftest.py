"""One Spark session for all tests; they are left out, and say so, where Spark cannot run."""

from __future__ import annotations

import pytest

from sfumato.data.distributed import splits
from sfumato.data.distributed import splits as resting
from sfumato.errors import SfumatoError
from sfumato.release import distributed as parts


def reason_to_leave_out() -> str | None:
    """Why Spark cannot run here, in the words that a user would read."""
    from sfumato.data.distributed.spark import require_parts

    try:
        require_parts()
    except SfumatoError as error:
        return str(error)
    return None


QUICK = {
    "test_counts_are_those_of_one_machine[parquet]",
    "test_misfits_are_told_alike",
    "test_every_file_is_that_of_the_local_runner[randomized response]",
    "test_every_file_is_that_of_the_local_runner[anatomy]",
    "test_a_data_frame_is_published_in_its_session",
    "test_one_frame_under_two_schemas_is_coded_twice",
    "test_what_a_query_fails_on_is_not_repeated[counts]",
    "test_tasks_that_die_leave_the_same_release[method0-raises]",
    "test_the_key_is_on_no_disk",
}
"""What ``make test`` runs: half a minute. The rest is run by ``make spark-test``."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Skip with the reason, so that it stands in the summary."""
    here = [item for item in items if "tests/spark/" in item.path.as_posix()]
    reason = reason_to_leave_out() if here else None
    for item in here:
        if item.name not in QUICK:
            item.add_marker(pytest.mark.spark)
        # PySpark leaves the sockets that it hands rows over by to the collector of garbage.
        item.add_marker(pytest.mark.filterwarnings("ignore::ResourceWarning"))
        item.add_marker(pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"))
        if reason is not None:
            item.add_marker(pytest.mark.skip(reason=f"SPARK WAS LEFT OUT: {reason}"))


@pytest.fixture(scope="session")
def session(tmp_path_factory):
    """Two threads and four attempts for every task."""
    from sfumato.data.distributed.spark import find_session

    folder = tmp_path_factory.mktemp("spark")
    found = find_session(threads=2, memory="1GB", folder=folder)
    found.conf.set("spark.sql.shuffle.partitions", "2")
    yield found
    found.stop()


@pytest.fixture
def engine(session):
    """The engine in that session."""
    from sfumato.data.distributed.spark import SparkEngine

    with_session = SparkEngine(session)
    yield with_session
    with_session.close()


@pytest.fixture(autouse=True)
def small_splits(monkeypatch):
    """Splits of 300 rows, files of 400."""
    for module in (splits, resting):
        monkeypatch.setattr(module, "ROWS_PER_SPLIT", 300)
    monkeypatch.setattr(parts, "ROWS_PER_FILE", 400)
