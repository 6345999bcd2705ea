"""Computes ticks.tsv: a second implementation of schedules, minute by minute, on Python's zoneinfo.

It walks every minute of real time and decides by the wall clock. It shares nothing with Escrow but the rules:
a local time that occurs twice is one tick, at its first occurrence; a local time that does not exist is a tick at the
moment the clock moves past it; a pattern for every hour follows real time.
"""

import sys
from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo

UTC = timezone.utc
DAYS = {name: number for number, name in enumerate(["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"])}


def values(field, low, high):
    found = set()
    for part in field.split(","):
        span, _, step = part.partition("/")
        step = int(step or 1)
        if span == "*":
            first, last = low, high
        elif "-" in span:
            first, last = (int(DAYS.get(end, end)) for end in span.split("-"))
        else:
            first = int(DAYS.get(span, span))
            last = high if "/" in part else first
        found.update(range(first, last + 1, step))
    return found


class Pattern:
    def __init__(self, text):
        minute, hour, day, month, weekday = text.split()
        self.minutes = values(minute, 0, 59)
        self.hours = values(hour, 0, 23)
        self.days = values(day, 1, 31)
        self.months = values(month, 1, 12)
        self.weekdays = {number % 7 for number in values(weekday, 0, 7)}
        self.any_day = day == "*"
        self.any_weekday = weekday == "*"

    def matches(self, local):
        if local.minute not in self.minutes or local.hour not in self.hours or local.month not in self.months:
            return False
        day = local.day in self.days
        weekday = (local.weekday() + 1) % 7 in self.weekdays
        if self.any_day and self.any_weekday:
            return True
        if self.any_day:
            return weekday
        if self.any_weekday:
            return day
        return day or weekday

    def every_hour(self):
        return len(self.hours) == 24


def ticks(text, zone, start, count):
    """The first ticks after `start`, which is in UTC."""
    pattern, zone, found = Pattern(text), ZoneInfo(zone), []
    at = start.replace(second=0, microsecond=0) + timedelta(minutes=1)
    limit = start + timedelta(days=366 * 9)
    before = (at - timedelta(minutes=1)).astimezone(zone).replace(tzinfo=None)
    # The local times that the clock has already shown, as far back as a repetition can reach.
    shown_until = max(
        (at - timedelta(minutes=back)).astimezone(zone).replace(tzinfo=None) for back in range(1, 26 * 60)
    )
    while len(found) < count and at < limit:
        local = at.astimezone(zone).replace(tzinfo=None)
        if pattern.every_hour():
            if pattern.matches(local):
                found.append(at)
        else:
            hit = local > shown_until and pattern.matches(local)
            # Minutes that the clock skipped between the last real minute and this one.
            skipped = before + timedelta(minutes=1)
            while skipped < local and not hit:
                if skipped > shown_until and pattern.matches(skipped):
                    hit = True
                skipped += timedelta(minutes=1)
            if hit:
                found.append(at)
            shown_until = max(shown_until, local)
        before = local
        at += timedelta(minutes=1)
    return found


CASES = [
    # Europe/Berlin: forward on 2026-03-29 01:00Z (02:00 -> 03:00), back on 2026-10-25 01:00Z (03:00 -> 02:00).
    ("30 2 * * *", "Europe/Berlin", "2026-03-27T12:00", 5),
    ("0 2 * * *", "Europe/Berlin", "2026-03-27T12:00", 5),
    ("0 2,3 * * *", "Europe/Berlin", "2026-03-27T12:00", 7),
    ("0,30 2 * * *", "Europe/Berlin", "2026-03-28T12:00", 5),
    ("*/10 2 * * *", "Europe/Berlin", "2026-03-28T22:00", 8),
    ("30 2 * * *", "Europe/Berlin", "2026-10-23T12:00", 5),
    ("*/20 2 * * *", "Europe/Berlin", "2026-10-24T22:00", 8),
    ("0 * * * *", "Europe/Berlin", "2026-03-28T23:00", 6),
    ("0 * * * *", "Europe/Berlin", "2026-10-24T22:00", 8),
    ("*/30 * * * *", "Europe/Berlin", "2026-10-25T00:00", 8),
    ("0 */2 * * *", "Europe/Berlin", "2026-03-28T20:00", 8),
    ("0 */2 * * *", "Europe/Berlin", "2026-10-24T20:00", 8),
    ("30 2 * * *", "Europe/Berlin", "2026-10-25T01:10", 2),
    # America/New_York: forward on 2026-03-08 07:00Z, back on 2026-11-01 06:00Z.
    ("30 2 * * *", "America/New_York", "2026-03-06T12:00", 5),
    ("30 1 * * *", "America/New_York", "2026-10-30T12:00", 5),
    ("15 1,2 * * SUN", "America/New_York", "2026-10-30T12:00", 4),
    ("45 * * * *", "America/New_York", "2026-11-01T04:00", 6),
    ("0 9 * * 1-5", "America/New_York", "2026-03-05T12:00", 5),
    # Lord Howe moves by half an hour: forward on 2026-10-03 15:30Z, back on 2026-04-04 15:00Z.
    ("15 2 * * *", "Australia/Lord_Howe", "2026-10-02T00:00", 4),
    ("45 1 * * *", "Australia/Lord_Howe", "2026-04-03T00:00", 4),
    ("*/15 * * * *", "Australia/Lord_Howe", "2026-04-04T14:00", 8),
    # Santiago moves at midnight: 2026-09-06 has no 00:00 to 00:59.
    ("0 0 * * *", "America/Santiago", "2026-09-04T12:00", 4),
    ("30 23 * * *", "America/Santiago", "2026-04-03T12:00", 4),
    # Cairo moves at midnight, too.
    ("0 0 * * *", "Africa/Cairo", "2026-04-22T12:00", 4),
    # Samoa had no 2011-12-30.
    ("0 12 * * *", "Pacific/Apia", "2011-12-28T12:00", 4),
    ("0 12 30 12 *", "Pacific/Apia", "2011-12-01T00:00", 2),
    # Kathmandu and Kolkata never move; their offsets are odd.
    ("0 6 * * *", "Asia/Kathmandu", "2026-01-01T00:00", 3),
    ("30 5 * * *", "Asia/Kolkata", "2026-01-01T00:00", 3),
    # Leap days.
    ("0 0 29 2 *", "UTC", "2023-03-01T00:00", 3),
    ("0 12 29 2 *", "Europe/Berlin", "2024-02-29T11:00", 2),
    ("0 0 28,29 2 *", "UTC", "2027-01-01T00:00", 4),
    ("59 23 31 12 *", "Pacific/Kiritimati", "2025-06-01T00:00", 2),
    # Day of the month or day of the week.
    ("0 0 13 * 5", "UTC", "2026-01-30T00:00", 8),
    ("0 0 1-7 * 1", "UTC", "2026-03-01T00:00", 8),
    ("0 0 * * 0", "UTC", "2026-01-01T00:00", 3),
    ("0 0 * * 7", "UTC", "2026-01-01T00:00", 3),
    ("0 0 31 * *", "UTC", "2026-01-31T00:00", 4),
    ("*/7 3 * * *", "UTC", "2026-01-01T00:00", 10),
    ("5-59/25 22-23 * * SAT,SUN", "Europe/London", "2026-03-27T00:00", 9),
    ("0 1 * * *", "Europe/London", "2026-03-28T12:00", 3),
    ("0 1 * * *", "Europe/London", "2026-10-24T12:00", 3),
    ("30 0 * * *", "Europe/Dublin", "2026-10-24T12:00", 3),
    ("0 3 * * *", "Africa/Casablanca", "2026-02-13T12:00", 4),
    ("0 2 * * *", "America/Sao_Paulo", "2018-11-02T12:00", 4),
    ("0 0 * * *", "America/Sao_Paulo", "2018-11-02T12:00", 4),
    ("0 0 * * *", "America/Havana", "2026-03-06T12:00", 4),
    ("30 0 * * *", "America/Havana", "2026-10-30T12:00", 4),
]

if __name__ == "__main__":
    out = open(sys.argv[1], "w") if len(sys.argv) > 1 else sys.stdout
    print("# Made by ticks.py: pattern, zone, the instant before (UTC), the ticks that follow (UTC).", file=out)
    for text, zone, start, count in CASES:
        begin = datetime.fromisoformat(start).replace(tzinfo=UTC)
        found = ticks(text, zone, begin, count)
        assert len(found) == count, (text, zone)
        stamps = " ".join(tick.strftime("%Y-%m-%dT%H:%M") for tick in found)
        print(f"{text}\t{zone}\t{start}\t{stamps}", file=out)
