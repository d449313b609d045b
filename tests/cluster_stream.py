"""A program that plays a folder of events with Structured Streaming until none is left; the tests kill it.

python cluster_stream.py EVENTS RESULT CHECKPOINT STATES: STATES gets a JSON file with the result and all states at the
end, and the number of events that came too late.
"""

import json
import sys

from wane.integrations import spark

HOW = {"id": "shop", "prediction": "order", "time": "sent", "y": "sold", "y_hat": "forecast"}
MORE = {"method": "magl", "alpha": (0.1, 0.3), "watermark": "5 minutes", "expire_after": 3600.0}
EVENTS = "shop STRING, order STRING, sent TIMESTAMP, sold DOUBLE, forecast DOUBLE"


def main(events, result, checkpoint, states):
    config = {"spark__sql__shuffle__partitions": 2, "spark__ui__enabled": False, "spark__sql__session__timeZone": "UTC"}
    session = spark.session("local[2]", **config)
    read = session.readStream.schema(EVENTS).option("maxFilesPerTrigger", 1).json(events)
    made = spark.stream(read, **HOW, **MORE)
    write = made.writeStream.format("parquet").option("path", result).option("checkpointLocation", checkpoint)
    query = write.trigger(availableNow=True).start()
    query.awaitTermination()
    found = {"dropped": sum(int(p["stateOperators"][0]["numRowsDroppedByWatermark"]) for p in query.recentProgress)}
    found["counted"] = spark.dropped(query)
    found["rows"] = sorted(session.read.parquet(result).toJSON().collect())  # Spark leaves out strays of killed batches
    for name, column in (("series", "value.state"), ("waiting", "user_map_value.kept")):
        read = session.read.format("statestore").option("stateVarName", name).load(checkpoint)
        key = "key.id" if name == "series" else "concat(key.id, '/', user_map_key.prediction)"
        rows = read.selectExpr(f"{key} AS k", f"hex({column}) AS v").collect()
        found[name] = sorted([row["k"], row["v"]] for row in rows)
    with open(states, "w") as file:
        json.dump(found, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
