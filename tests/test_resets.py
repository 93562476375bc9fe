"""Every wording of a reset time that was collected, with a fixed clock and zone."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from resumectl.resets import reset_time

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2025, 12, 28, 14, 0, tzinfo=BERLIN).timestamp()


def at(text: str, zone: str = "Europe/Berlin") -> float:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).timestamp()


@pytest.mark.parametrize(
    ("text", "expected", "source"),
    [
        ("Claude AI usage limit reached|1766502000", 1766502000, "epoch"),
        ("Claude AI usage limit reached|1766502000123", 1766502000.123, "epoch"),
        ('{"type":"usage_limit_reached","resets_at":1777936568,"resets_in_seconds":13872}', 1777936568, "epoch"),
        ('"resetsAt": 1777936568', 1777936568, "epoch"),
        ('"resets_in_seconds":13872', NOW + 13872, "seconds"),
        ("Retry-After: 30", NOW + 30, "seconds"),
        ("retry_after=1.5", NOW + 1.5, "seconds"),
        ("try again in 2 days 17 hours 14 minutes", NOW + 2 * 86400 + 17 * 3600 + 14 * 60, "duration"),
        ("Your quota will reset after 2h52m39s.", NOW + 2 * 3600 + 52 * 60 + 39, "duration"),
        ("Please try again in 1 hour, 5 minutes and 2 seconds.", NOW + 3902, "duration"),
        ("Please try again in 1.5s.", NOW + 1.5, "duration"),
        ("Please try again in 250ms.", NOW + 0.25, "duration"),
        ("5-hour limit reached ∙ resets 3am", at("2025-12-29 03:00"), "clock"),
        ("You've hit your limit · resets 1pm (Europe/Lisbon)", at("2025-12-28 13:00", "Europe/Lisbon"), "clock"),
        (
            "You've hit your session limit · resets 12:50am (America/Los_Angeles)",
            at("2025-12-29 00:50", "America/Los_Angeles"),
            "clock",
        ),
        ("· resets Apr 23 at 4pm (America/Recife)", at("2026-04-23 16:00", "America/Recife"), "clock"),
        ("· resets Feb 16, 11am (Europe/Berlin)", at("2026-02-16 11:00"), "clock"),
        (
            "You're out of extra usage · resets 11:30am (Asia/Colombo)",
            at("2025-12-29 11:30", "Asia/Colombo"),
            "clock",
        ),
        ("or try again at 12:16 PM.", at("2025-12-29 12:16"), "clock"),
        ("or try again at 2:16\u202fPM.", at("2025-12-28 14:16"), "clock"),
        ("try again at Dec 29th, 2025 10:15 PM", at("2025-12-29 22:15"), "clock"),
        ("resets 3pm UTC", at("2025-12-28 15:00", "UTC"), "clock"),
        ("resets 12pm", at("2025-12-29 12:00"), "clock"),
        ("resets 12am", at("2025-12-29 00:00"), "clock"),
        ("Monthly usage limit reached", None, "none"),
        ("Credit balance is too low", None, "none"),
        ("You've hit your Sonnet limit", None, "none"),
        ("resets 3am (Middle/Earth)", None, "none"),
        ("resets 3am (../../etc/passwd)", None, "none"),
        ("resets 3am (America)", None, "none"),
        ("resets 13pm", None, "none"),
        ("resets Feb 31 at 3am", None, "none"),
        ("try again in 5 months", None, "none"),
        ("retry-after: " + "9" * 400, None, "none"),
        ("", None, "none"),
    ],
)
def test_the_wording_gives_the_time(text, expected, source):
    assert reset_time(text, NOW, BERLIN) == (expected, source)


def test_an_epoch_is_believed_before_a_duration_and_a_duration_before_a_clock_time():
    text = 'resets 3am, try again in 2h, "resets_in_seconds":60, "resets_at":1777936568'
    assert reset_time(text, NOW, BERLIN)[1] == "epoch"
    assert reset_time(text.rpartition(",")[0], NOW, BERLIN)[1] == "seconds"
    assert reset_time("resets 3am, try again in 2h", NOW, BERLIN) == (NOW + 7200, "duration")


@pytest.mark.parametrize(
    ("now", "text", "expected_utc"),
    [
        ("2026-03-28 22:00", "resets 3:30am", "2026-03-29 01:30"),  # the night has 23 hours
        ("2026-10-24 22:00", "resets 3:30am", "2026-10-25 02:30"),  # and 25 in autumn
        ("2026-03-28 22:00", "resets 2:30am", "2026-03-29 01:30"),  # a time that the clocks skip
    ],
)
def test_the_clock_of_the_zone_is_followed_over_a_change_of_summer_time(now, text, expected_utc):
    wanted = datetime.fromisoformat(expected_utc).replace(tzinfo=UTC).timestamp()
    assert reset_time(text, at(now), BERLIN) == (wanted, "clock")


@pytest.mark.parametrize(
    ("now", "text", "expected"),
    [
        ("2026-01-10 15:20", "resets 3pm", "2026-01-10 15:00"),
        ("2026-01-10 00:20", "resets 11:50pm", "2026-01-09 23:50"),
        ("2026-01-10 16:00", "resets 3pm", "2026-01-11 15:00"),
        ("2026-01-10 15:20", "resets Jan 9 at 3pm", "2026-01-09 15:00"),
        ("2026-01-01 00:20", "resets Dec 31 at 11pm", "2025-12-31 23:00"),
        ("2025-12-31 15:00", "resets Jan 1 at 11pm", "2026-01-01 23:00"),
    ],
)
def test_a_time_that_has_just_passed_is_stale_and_not_a_day_or_a_year_off(now, text, expected):
    assert reset_time(text, at(now), BERLIN) == (at(expected), "clock")


def test_without_a_zone_the_machines_own_is_taken(monkeypatch):
    import time

    monkeypatch.setenv("TZ", "Asia/Colombo")
    time.tzset()
    try:
        assert reset_time("resets 11:30pm", NOW) == (at("2025-12-28 23:30", "Asia/Colombo"), "clock")
    finally:
        monkeypatch.undo()
        time.tzset()
