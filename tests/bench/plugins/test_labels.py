"""Labels are taken apart and sorted as people would."""

from __future__ import annotations

from bench.plugins.labels import natural_sort_key, parse_label


def test_a_label_holds_its_defaults() -> None:
    name, options = parse_label("texthide:m=64")
    assert name == "texthide"
    assert (options["m"], options["k"], options["weights"]) == ("64", "4", "half-normal")


def test_labels_of_unknown_defenses_have_what_they_say_and_malformed_ones_nothing() -> None:
    assert parse_label("theirs:a=1") == ("theirs", {"a": "1"})
    assert parse_label(":odd") == (":odd", {})


def test_numbers_are_sorted_by_size_and_defaults_count() -> None:
    labels = ["texthide", "texthide:m=inf", "texthide:m=64", "dp-ie-laplace:epsilon=10", "dp-ie-laplace:epsilon=2"]
    assert sorted(labels, key=lambda label: natural_sort_key([label])) == [
        "dp-ie-laplace:epsilon=2",
        "dp-ie-laplace:epsilon=10",
        "texthide:m=64",
        "texthide",  # m = 256
        "texthide:m=inf",
    ]
