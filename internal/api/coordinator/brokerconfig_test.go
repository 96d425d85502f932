package coordinator

import "testing"

func TestBrokerConfig(t *testing.T) {
	f := open(t)
	const path = "/service/coordinator/v1/broker/config"
	f.expect("GET", path, "", 200, `{"queryBlocklist":[],"queryContext":{},"perSegmentTimeoutConfig":{}}`)
	f.expect("POST", path, `{"queryBlocklist":[{"type":"default","ruleName":"a","dataSources":["wiki"]}],"queryContext":{"priority":1}}`, 200, "")
	f.expect("GET", path, "", 200,
		`{"queryBlocklist":[{"type":"default","ruleName":"a","dataSources":["wiki"]}],"queryContext":{"priority":1},"perSegmentTimeoutConfig":{}}`)
	for _, body := range []string{`null`, `[]`, `{"queryBlocklist":[{"type":"default","ruleName":"all"}]}`, `{"queryBlocklist":[{"type":"other","ruleName":"a","dataSources":["x"]}]}`} {
		if status, _ := f.send("POST", path, body); status != 400 {
			t.Errorf("%s: status %d", body, status)
		}
	}
}
