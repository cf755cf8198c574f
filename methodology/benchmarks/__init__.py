"""One module a benchmark: its procedure as steps, arithmetic, metric id, unit and clauses. All pure."""
