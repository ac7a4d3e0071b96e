"""Keystream, exact arithmetic and refusals of the noise source."""

from __future__ import annotations

import copy
import hashlib
import hmac
import pickle

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from sfumato.errors import ParameterError
from sfumato.randomness.streams import (
    WORDS_PER_BLOCK,
    CategorySampler,
    NoiseSource,
    NoiseStream,
    UniformReplacement,
    code_dtype,
)

LAST_WORD = 2**64 - 1


class ScriptedStream(NoiseStream):
    """Stream that gives the words it was told to give, and fails when they run out."""

    def __init__(self, *script):
        super().__init__(bytes(32), 0)
        self.script = list(script)

    def _fill(self, destination):
        for position in range(destination.size):
            destination[position] = self.script.pop(0)


@pytest.fixture
def stream():
    """Give a stream that repeats from run to run."""
    return NoiseSource.seeded(1).stream(0)


class TestNoiseSource:
    def test_a_seeded_stream_is_the_aes_keystream_of_the_hashed_seed(self):
        """The words are AES-256-CTR of zeros, computed here from the seed and the number."""
        key = hashlib.sha256(b"sfumato seeded noise source 1:" + b"-5").digest()
        number = 2**64 - 2
        first_block = number.to_bytes(8, "big") + bytes(8)
        keystream = Cipher(algorithms.AES(key), modes.CTR(first_block)).encryptor()
        expected = np.frombuffer(keystream.update(bytes(80)), np.uint64)
        assert NoiseSource.seeded(-5).stream(number).words(10).tolist() == expected.tolist()

    def test_a_named_source_has_the_key_that_hmac_gives(self):
        """The child's key is HMAC-SHA256 of the purpose under the parent's key."""
        parent = NoiseSource.seeded(3)
        key = hmac.new(parent._key, "métier".encode(), hashlib.sha256).digest()
        assert parent.named("métier")._key == key

    def test_names_numbers_and_seeds_share_no_words(self):
        """Different purposes, nestings, stream numbers and seeds give different words."""
        source = NoiseSource.seeded(1)
        sources = [
            source,
            NoiseSource.seeded(2),
            source.named("a"),
            source.named("b"),
            source.named("a").named("b"),
            source.named("b").named("a"),
            NoiseSource.from_operating_system(),
            NoiseSource.from_operating_system(),
        ]
        numbers = (0, 1, 2**64 - 1)
        words = [each.stream(number).words(100) for each in sources for number in numbers]
        assert len(np.unique(words)) == 100 * len(sources) * len(numbers)

    def test_only_seeded_sources_and_their_children_are_reproducible(self):
        """The mark that makes a release not private follows the source."""
        assert NoiseSource.seeded(1).named("a").is_reproducible
        assert not NoiseSource.from_operating_system().named("a").is_reproducible

    def test_the_representation_hides_key_and_seed(self):
        """Neither repr nor str shows more than whether the source is reproducible."""
        source = NoiseSource.seeded(987654321)
        assert repr(source) == str(source) == "NoiseSource(is_reproducible=True)"
        assert repr(source.stream(987654321)) == "NoiseStream()"

    def test_a_source_cannot_be_changed(self):
        """Attributes can be neither set nor added."""
        source = NoiseSource.seeded(1)
        with pytest.raises(AttributeError):
            source.is_reproducible = False
        with pytest.raises((AttributeError, TypeError)):
            source.note = "more"

    def test_a_pickled_source_gives_the_same_streams(self):
        """Workers can be sent a source; it carries key and mark."""
        source = NoiseSource.from_operating_system()
        sent = pickle.loads(pickle.dumps(source))
        assert sent.stream(4).words(5).tolist() == source.stream(4).words(5).tolist()
        assert sent.is_reproducible is False

    @pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, pickle.dumps])
    def test_a_stream_cannot_be_duplicated(self, stream, duplicate):
        """A copy would repeat the bits, so copies and pickles are refused."""
        with pytest.raises(TypeError, match="cannot be copied or pickled"):
            duplicate(stream)

    @pytest.mark.parametrize("number", [-1, 2**64, 0.5, "1"])
    def test_stream_numbers_outside_64_bits_are_refused(self, number):
        """A number must fit the first half of the counter block."""
        with pytest.raises(ParameterError, match="number must be a whole number from 0"):
            NoiseSource.seeded(1).stream(number)

    def test_other_bad_arguments_of_a_source_are_refused(self):
        """Seeds are whole numbers, purposes are texts, keys are not shown in errors."""
        with pytest.raises(ParameterError, match="seed must be a whole number"):
            NoiseSource.seeded(1.5)
        for purpose in ("", b"bytes"):
            with pytest.raises(ParameterError, match="purpose"):
                NoiseSource.seeded(1).named(purpose)
        with pytest.raises(ParameterError) as caught:
            NoiseSource(b"too short", is_reproducible=False)
        assert "too short" not in str(caught.value)


class TestWords:
    def test_two_calls_continue_where_one_would(self):
        """Calls of any size, odd ones and ones across blocks, give one run of words."""
        source = NoiseSource.seeded(1)
        sizes = [1, 2, 3, WORDS_PER_BLOCK + 1, 0, WORDS_PER_BLOCK, 5]
        stream = source.stream(9)
        parts = np.concatenate([stream.words(size) for size in sizes])
        assert np.array_equal(parts, source.stream(9).words(sum(sizes)))

    def test_a_draw_leaves_earlier_words_alone(self, stream):
        """What was given does not change when the stream's buffer is used again."""
        words = stream.words(10)
        before = words.copy()
        stream.uniform_codes(10, 5)
        stream.words(10)
        assert np.array_equal(words, before)

    def test_a_stream_ends_before_its_counter_carries(self, stream):
        """The last word can be drawn, the next one is refused."""
        assert stream._words_left == 2 * 2**64
        stream._words_left = 3
        with pytest.raises(ParameterError, match="3 words left and 4 were asked for"):
            stream.words(4)
        assert stream.words(3).size == 3
        with pytest.raises(ParameterError, match="Take another stream number"):
            stream.words(1)

    @pytest.mark.parametrize("count", [-1, 1.0, None])
    def test_counts_that_are_no_counts_are_refused(self, stream, count):
        """A count is a whole number from 0."""
        for draw in (
            stream.words,
            stream.permutation,
            lambda number: stream.bernoulli(number, 1),
            lambda number: stream.uniform_codes(number, 2),
        ):
            with pytest.raises(ParameterError, match="count must be a whole number from 0"):
                draw(count)


class TestBernoulli:
    def test_true_is_a_word_below_the_threshold(self):
        """Words just below and at the threshold fall on different sides."""
        drawn = ScriptedStream(0, 9, 10, LAST_WORD).bernoulli(4, 10)
        assert drawn.tolist() == [True, True, False, False]

    def test_the_ends_are_never_and_always(self):
        """Threshold 0 is never true and 2**64 always, even for the last word."""
        assert ScriptedStream(0, LAST_WORD).bernoulli(2, 0).tolist() == [False, False]
        assert ScriptedStream(0, LAST_WORD).bernoulli(2, 2**64).tolist() == [True, True]

    def test_every_threshold_uses_one_word_an_item(self, stream):
        """The position after a draw does not depend on the threshold."""
        expected = NoiseSource.seeded(1).stream(0).words(9)[6:]
        for threshold in (0, 2**64):
            stream.bernoulli(3, threshold)
        assert stream.words(3).tolist() == expected.tolist()

    @pytest.mark.parametrize("threshold", [-1, 2**64 + 1, 0.5])
    def test_thresholds_that_are_no_probability_are_refused(self, stream, threshold):
        """A float is not taken for a probability."""
        with pytest.raises(ParameterError, match="threshold must be a whole number from 0"):
            stream.bernoulli(1, threshold)


class TestUniformIntegers:
    def test_codes_are_equal_runs_of_words(self):
        """Each of three codes has (2**64 - 1) / 3 words; the one word left over is drawn again."""
        run = LAST_WORD // 3
        stream = ScriptedStream(0, run - 1, run, 3 * run - 1, LAST_WORD, LAST_WORD, run)
        assert stream.uniform_codes(5, 3).tolist() == [0, 0, 1, 2, 1]
        assert stream.script == []

    @pytest.mark.parametrize("bits", [1, 6, 8, 32])
    def test_codes_of_a_power_of_two_are_equal_runs_of_words_too(self, bits):
        """Each of 2**bits codes has 2**(64 - bits) words, and none is left over: the ends of the first, second and last run."""
        run, size = 2 ** (64 - bits), 2**bits
        stream = ScriptedStream(0, run - 1, run, LAST_WORD - run, LAST_WORD)
        assert stream.uniform_codes(5, size).tolist() == [0, 0, 1, size - 2, size - 1]
        assert stream.script == []

    @pytest.mark.parametrize(
        ("size", "dtype"),
        [(1, "u1"), (256, "u1"), (257, "u2"), (2**16, "u2"), (2**16 + 1, "u4"), (2**32, "u4")],
    )
    def test_the_type_is_the_smallest_that_holds_the_codes(self, stream, size, dtype):
        """Types change between 256 and 257 and between 2**16 and 2**16 + 1."""
        assert code_dtype(size) == np.dtype(dtype)
        codes = stream.uniform_codes(100, size)
        assert codes.dtype == np.dtype(dtype)
        assert codes.max() < size

    @pytest.mark.parametrize("size", [0, 2**32 + 1, 2.0])
    def test_sizes_without_codes_are_refused(self, stream, size):
        """A size is from 1 to 2**32."""
        with pytest.raises(ParameterError, match="size must be a whole number from 1"):
            stream.uniform_codes(1, size)

    def test_integers_below_draw_again_in_a_run_cut_off_by_the_last_word(self):
        """Below 3 the last word is refused; below 2**63 + 1 every word from there on is."""
        bounds = np.array([3, 3, 2**63 + 1, 1, 8, LAST_WORD], np.uint64)
        script = [LAST_WORD - 1, LAST_WORD, 2**63 + 1, LAST_WORD, LAST_WORD, LAST_WORD]
        stream = ScriptedStream(*script, LAST_WORD, 2**63, 5, 4)
        # 2**64 - 2 = 3 * run - 1 is 2 modulo 3. Refused: items 1, 2 and 5; then item 1 again.
        # Redraws: item 1 gets LAST_WORD (refused) then 4; item 2 gets 2**63; item 5 gets 5.
        assert stream.integers_below(bounds).tolist() == [2, 1, 2**63, 0, 7, 5]
        assert stream.script == []

    def test_integers_below_take_every_integer_type(self, stream):
        """Signed and unsigned bounds serve, and blocks are joined in order."""
        bounds = np.tile(np.array([1, 2**31 - 1], np.int32), WORDS_PER_BLOCK)
        drawn = stream.integers_below(bounds)
        assert drawn.dtype == np.uint64
        assert not drawn[::2].any()
        assert drawn[1::2].max() < 2**31 - 1
        assert stream.integers_below(np.zeros(0, np.uint8)).size == 0

    @pytest.mark.parametrize("bounds", [[3, 0], [-1, 5], [1.5], [[1]]])
    def test_bounds_that_leave_nothing_are_refused(self, stream, bounds):
        """A bound is at least 1 and whole."""
        with pytest.raises(ParameterError, match="bounds"):
            stream.integers_below(np.array(bounds))


class TestPermutation:
    @pytest.mark.parametrize("count", [0, 1, 2, 3, 64, 65, 200_000])
    def test_it_holds_every_number_once(self, stream, count):
        """Any count, powers of two and their neighbours too, gives a permutation."""
        order = stream.permutation(count)
        assert order.dtype == np.int64
        assert np.array_equal(np.sort(order), np.arange(count))

    def test_it_sorts_by_the_random_part_of_the_words(self):
        """Three items have two index bits; the rest of each word decides."""
        assert ScriptedStream(12, 4, 8).permutation(3).tolist() == [1, 2, 0]

    def test_low_bits_do_not_decide(self):
        """Words that differ in the index bits only are a tie, and ties are broken by new words."""
        # Tie of all three, then the order that the words 12, 8, 4 sort into: 2, 1, 0.
        assert ScriptedStream(8, 9, 10, 12, 8, 4).permutation(3).tolist() == [2, 1, 0]

    def test_ties_are_broken_within_their_run(self):
        """Items 1 and 3 come before 0 and 2; the new words reverse each pair."""
        stream = ScriptedStream(4, 0, 4, 0, 12, 8, 4, 0)
        assert stream.permutation(4).tolist() == [3, 1, 2, 0]


class TestCategorySampler:
    def test_the_words_of_a_column_go_to_its_outcome_and_its_alias(self):
        """Words on both sides of each threshold give the outcomes that the table says."""
        sampler = CategorySampler.from_probabilities([[0.5, 0.3, 0.2], [0.0, 0.1, 0.9]])
        capacity = sampler.total // 3
        script, given, expected = [], [], []
        for cell, (threshold, alias) in enumerate(
            zip(sampler.thresholds.tolist(), sampler.aliases.tolist(), strict=True)
        ):
            column = cell % 3
            for remainder in (0, threshold - 1, threshold, capacity - 1):
                if not 0 <= remainder < capacity:
                    continue
                script.append(column * capacity + remainder)
                given.append(cell // 3)
                expected.append(column if remainder < threshold else alias)
        assert ScriptedStream(*script).categories(sampler, given).tolist() == expected

    def test_words_beyond_the_total_are_drawn_again(self):
        """With three outcomes the last word belongs to none."""
        sampler = CategorySampler.from_probabilities([[0.0, 0.0, 1.0]])
        stream = ScriptedStream(LAST_WORD, LAST_WORD, 0)
        assert stream.categories(sampler, [0]).tolist() == [2]
        assert stream.script == []

    def test_certain_outcomes_are_certain(self, stream):
        """A permutation matrix permutes, in every block, for every type of given."""
        sampler = CategorySampler.from_probabilities(np.eye(5)[[1, 2, 3, 4, 0]])
        for dtype in (np.uint8, np.int16, np.uint64):
            given = (np.arange(2 * WORDS_PER_BLOCK + 3) % 5).astype(dtype)
            drawn = stream.categories(sampler, given)
            assert drawn.dtype == np.uint8
            assert np.array_equal(drawn, (given + dtype(1)) % dtype(5))

    def test_one_outcome_needs_no_draw(self, stream):
        """A single outcome has all 2**64 words."""
        sampler = CategorySampler.from_probabilities([[1.0], [1.0]])
        assert sampler.integer_weights == ((2**64,), (2**64,))
        assert stream.categories(sampler, [0, 1, 1]).tolist() == [0, 0, 0]

    @pytest.mark.parametrize("given", [[0, 2], [-1, 0]])
    def test_rows_that_do_not_exist_are_refused_by_number_only(self, stream, given):
        """The error says how many items are concerned."""
        sampler = CategorySampler.from_probabilities(np.eye(2))
        with pytest.raises(ParameterError, match=r"given: 1 of 2 values are outside 0\.\.1"):
            stream.categories(sampler, given)


class TestUniformReplacement:
    def test_words_keep_below_the_threshold_and_are_shared_out_above(self):
        """The first and last word of each run, by hand for three categories and retention 1/4."""
        kernel = UniformReplacement.from_retention(0.25, 3)
        threshold, run = 2**62, 2**62
        assert (kernel.keep_threshold, kernel.words_per_category) == (threshold, run)
        script = [0, threshold - 1]
        for category in range(3):
            first = threshold + category * run
            script += [first, first + run - 1]
        codes = np.full(8, 2, np.uint8)
        published = ScriptedStream(*script).perturb_uniformly(codes, kernel)
        assert published.tolist() == [2, 2, 0, 0, 1, 1, 2, 2]

    @pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.uint16, np.int32, np.int64])
    def test_every_integer_type_gives_the_same_codes_in_its_own_type(self, dtype):
        """The published codes depend on codes and bits, not on how codes are stored."""
        kernel = UniformReplacement.from_retention(0.6, 50)
        codes = np.arange(2 * WORDS_PER_BLOCK + 7) % 50
        words = NoiseSource.seeded(1).stream(0).words(codes.size).tolist()
        expected = [
            code
            if word < kernel.keep_threshold
            else (word - kernel.keep_threshold) // kernel.words_per_category
            for code, word in zip(codes.tolist(), words, strict=True)
        ]
        stream = NoiseSource.seeded(1).stream(0)
        # Every second element of a wider array: memory that is not contiguous.
        strided = np.repeat(codes, 2).astype(dtype)[::2]
        published = stream.perturb_uniformly(strided, kernel)
        assert published.dtype == dtype
        assert published.tolist() == expected

    def test_no_rows_give_no_rows(self, stream):
        """An empty batch is allowed."""
        kernel = UniformReplacement.from_retention(0.5, 2)
        assert stream.perturb_uniformly(np.zeros(0, np.uint8), kernel).size == 0

    @pytest.mark.parametrize("codes", [np.array([77, 1], np.uint8), np.array([-77, 1], np.int8)])
    def test_codes_outside_the_categories_are_refused_without_being_shown(self, stream, codes):
        """The error says how many rows, never which code."""
        kernel = UniformReplacement.from_retention(0.5, 3)
        with pytest.raises(ParameterError, match="codes: 1 of 2 values") as caught:
            stream.perturb_uniformly(codes, kernel)
        assert "77" not in str(caught.value)

    def test_codes_of_a_wrong_kind_are_refused(self, stream):
        """Codes are integers in one dimension, of a type that holds every category."""
        kernel = UniformReplacement.from_retention(0.5, 300)
        for codes in (np.zeros(3), np.zeros((2, 2), np.uint16), np.zeros(2, bool)):
            with pytest.raises(ParameterError, match="codes must be a one-dimensional array"):
                stream.perturb_uniformly(codes, kernel)
        with pytest.raises(ParameterError, match="cannot hold 300 categories"):
            stream.perturb_uniformly(np.zeros(3, np.uint8), kernel)
