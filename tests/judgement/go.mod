module github.com/redrive/redrive/tests/judgement

go 1.26.0

replace github.com/redrive/redrive => ../..

require github.com/redrive/redrive v0.0.0
