"""What a custodian does with private rows: inspect, infer a schema, plan, choose, publish, audit."""
