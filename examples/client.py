"""A client of `wane serve` that can be killed and started again: it retries until it is answered.

Every request has an id of its own, so a request that is sent twice is done once. The client forecasts the demand of
some shops, asks for an interval, and sends what was sold when it is known, some rounds later.

    wane serve --journal demand &
    python examples/client.py [--url http://127.0.0.1:8470] [--rounds 200] [--json]

The token, if the service has one, is in the variable WANE_TOKEN.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import urllib.error
import urllib.request

DELAY = 3  # rounds after which it is known what was sold
PATIENCE = 30.0  # seconds for which a request is tried again


def ask(url, body):
    """The answer to a request; one that is not answered, or answered with "not now", is sent again."""
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {os.environ.get('WANE_TOKEN', '')}"}
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
    wait, until = 0.1, time.monotonic() + PATIENCE
    while True:
        try:
            with urllib.request.urlopen(request, timeout=10) as response:
                return json.load(response)
        except urllib.error.HTTPError as error:
            if error.code not in (429, 503) or time.monotonic() > until:
                raise SystemExit(f"{error.code}: {json.load(error)['error']['message']}") from error
            error.close()
        except OSError as error:  # nobody is there, for the moment
            if time.monotonic() > until:
                raise SystemExit(f"no answer from {url}: {error}") from error
        time.sleep(wait)
        wait = min(2 * wait, 2.0)


def main():
    """Forecast, ask, and tell."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", default="http://127.0.0.1:8470", help="of the service")
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--json", action="store_true", help="print the facts in JSON as the last line")
    options = parser.parse_args()
    inside = labels = 0
    intervals = {}
    for day in range(options.rounds + DELAY):
        operations = []
        if day < options.rounds:
            for shop in ("north", "south"):
                forecast = 100.0 + day % 7
                operations.append({"op": "predict", "series": shop, "id": f"day {day}", "output": forecast})
        if day >= DELAY:
            for shop in ("north", "south"):
                past = day - DELAY
                sold = 100.0 + past % 7 + (past * past * 7 + past * 3) % 37 / 4 - 4
                operations.append({"op": "label", "series": shop, "id": f"day {past}", "y": sold})
        answers = ask(f"{options.url}/v1/batch", {"operations": operations})["answers"]
        for operation, answer in zip(operations, answers, strict=True):
            assert answer["ok"], answer
            if operation["op"] == "predict":
                intervals[operation["series"], operation["id"]] = answer["lower"], answer["upper"]
            else:
                labels += 1
                inside += answer["covered"]
    print(f"{inside} of {labels} inside")
    if options.json:
        print(json.dumps({"inside": inside, "labels": labels}))


if __name__ == "__main__":
    main()
