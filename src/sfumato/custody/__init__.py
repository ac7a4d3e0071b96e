"""What a custodian does with private rows: inspect, infer a schema, plan, calibrate, publish, keep the ledger."""
