module github.com/hengedb/henge/bench

go 1.26.0
