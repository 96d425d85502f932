package spec

import (
	"encoding/json"

	"github.com/hengedb/henge/internal/fault"
)

// The strategies of an autoScalerConfig. Rate is specific to Henge: it computes the number of tasks
// from the rate of records and the lag (docs/streaming.md).
const (
	LagBased  = "lagBased"
	CostBased = "costBased"
	RateBased = "rateBased"
)

// Scaler is an autoScalerConfig, which adapts the number of task groups to the load.
type Scaler struct {
	Enabled  bool
	Strategy string
	Min, Max int
	Start    *int
	// Frequency is the minimum time between two changes. UpDelay and DownDelay are the minimum times
	// for one direction. All are in milliseconds.
	Frequency, UpDelay, DownDelay int64
	// StopRatio is the fraction of the groups that roll over at the same time; 0: not given.
	StopRatio float64
	Lag       LagScaler
	Cost      CostScaler
	Rate      RateScaler

	shown json.RawMessage
}

// LagScaler contains the members of strategy lagBased.
type LagScaler struct {
	CollectionInterval, CollectionRange int64
	StartDelay, ActionPeriod            int64
	OutThreshold, InThreshold           int64
	OutFraction, InFraction             float64
	InStep, OutStep                     int
	// Aggregate is SUM, MAX or AVERAGE.
	Aggregate string
}

// CostScaler contains the members of strategy costBased.
type CostScaler struct {
	ActionPeriod          int64
	LagWeight, IdleWeight float64
	BoundUp, BoundDown    bool
	DownAtRollover        bool
	CriticalLag           *int64
	HighLagFactor         float64
}

// RateScaler contains the members of strategy rateBased.
type RateScaler struct {
	ActionPeriod int64
	// Recovery is the time in which a lag should be caught up, in milliseconds.
	Recovery int64
	// Rate is the number of records per second that one task reads; 0: it is measured.
	Rate float64
	// Band is the fraction by which the required number of tasks may differ without a change.
	Band float64
}

type scalerGiven struct {
	Enabled   bool            `json:"enableTaskAutoScaler"`
	Strategy  *string         `json:"autoScalerStrategy"`
	Max       *integer        `json:"taskCountMax"`
	Min       *integer        `json:"taskCountMin"`
	Start     *integer        `json:"taskCountStart"`
	Frequency *integer        `json:"minTriggerScaleActionFrequencyMillis"`
	StopRatio *float64        `json:"stopTaskCountRatio"`
	UpDelay   json.RawMessage `json:"minScaleUpDelay"`
	DownDelay json.RawMessage `json:"minScaleDownDelay"`

	Interval   *integer `json:"lagCollectionIntervalMillis"`
	Range      *integer `json:"lagCollectionRangeMillis"`
	StartDelay *integer `json:"scaleActionStartDelayMillis"`
	Period     *integer `json:"scaleActionPeriodMillis"`
	Out        *integer `json:"scaleOutThreshold"`
	In         *integer `json:"scaleInThreshold"`
	OutPart    *float64 `json:"triggerScaleOutFractionThreshold"`
	InPart     *float64 `json:"triggerScaleInFractionThreshold"`
	InStep     *integer `json:"scaleInStep"`
	OutStep    *integer `json:"scaleOutStep"`
	Aggregate  *string  `json:"lagAggregate"`

	LagWeight  *float64 `json:"lagWeight"`
	IdleWeight *float64 `json:"idleWeight"`
	BoundUp    *bool    `json:"useTaskCountBoundariesOnScaleUp"`
	BoundDown  *bool    `json:"useTaskCountBoundariesOnScaleDown"`
	Rollover   bool     `json:"scaleDownDuringTaskRolloverOnly"`
	Critical   *integer `json:"criticalLagThreshold"`
	HighFactor *float64 `json:"highLagCostFactor"`

	Recovery *integer `json:"recoveryTargetMillis"`
	Rate     *float64 `json:"recordsPerSecondPerTask"`
	Band     *float64 `json:"deadBand"`
}

// scalerClass names an autoScalerConfig in refusals.
func scalerClass(strategy string) string {
	if strategy == CostBased {
		return costBasedClass
	}
	return lagBasedClass
}

// parseScaler reads an autoScalerConfig; nil: there is none.
func parseScaler(text json.RawMessage) (*Scaler, error) {
	if absent(text) {
		return nil, nil
	}
	var g scalerGiven
	if err := readPart("org.apache.druid.indexing.seekablestream.supervisor.autoscaler.AutoScalerConfig", text, &g); err != nil {
		return nil, err
	}
	s := &Scaler{Enabled: g.Enabled, Strategy: valueOr(g.Strategy, LagBased)}
	switch s.Strategy {
	case LagBased, CostBased, RateBased:
	default:
		return nil, fault.UnknownSubtype("org.apache.druid.indexing.seekablestream.supervisor.autoscaler.AutoScalerConfig", s.Strategy,
			[]string{CostBased, LagBased, RateBased})
	}
	if err := s.parseBounds(&g); err != nil {
		return nil, err
	}
	s.Frequency = int64(deref(g.Frequency, 600_000))
	p := &periods{class: scalerClass(s.Strategy), where: scalerClass(s.Strategy)}
	up, down := "", ""
	if s.Strategy == CostBased {
		up, down = "PT15M", "PT30M"
	}
	s.UpDelay, s.DownDelay = p.millis("minScaleUpDelay", g.UpDelay, up), p.millis("minScaleDownDelay", g.DownDelay, down)
	if p.err != nil {
		return nil, p.err
	}
	if g.StopRatio != nil {
		if s.StopRatio = *g.StopRatio; s.StopRatio <= 0 || s.StopRatio > 1 {
			return nil, refused(scalerClass(s.Strategy), "0.0 < stopTaskCountRatio <= 1.0")
		}
	}
	s.parseLag(&g)
	s.parseCost(&g)
	s.Rate = RateScaler{
		ActionPeriod: int64(deref(g.Period, 60_000)), Recovery: max(1, int64(deref(g.Recovery, 300_000))),
		Rate: valueOr(g.Rate, 0), Band: valueOr(g.Band, 0.1),
	}
	switch s.Lag.Aggregate {
	case "SUM", "MAX", "AVERAGE":
	default:
		return nil, refused(scalerClass(s.Strategy), "lagAggregate [%s] is unknown; known are [AVERAGE, MAX, SUM]", s.Lag.Aggregate)
	}
	return s, s.show(&g)
}

func valueOr[T any](p *T, usual T) T {
	if p == nil {
		return usual
	}
	return *p
}

// parseBounds reads between how many groups there are.
func (s *Scaler) parseBounds(g *scalerGiven) error {
	class := scalerClass(s.Strategy)
	if g.Start != nil {
		n := within(int64(*g.Start))
		s.Start = &n
	}
	if g.Max != nil {
		s.Max = within(int64(*g.Max))
	}
	if g.Min != nil {
		s.Min = within(int64(*g.Min))
	}
	if !s.Enabled {
		return nil
	}
	switch {
	case g.Max == nil || g.Min == nil:
		return refused(class, "taskCountMax or taskCountMin can't be null!")
	case s.Max < s.Min:
		return refused(class, "taskCountMax can't lower than taskCountMin!")
	case s.Start != nil && (*s.Start < s.Min || *s.Start > s.Max):
		return refused(class, "taskCountMin <= taskCountStart <= taskCountMax")
	}
	return nil
}

func (s *Scaler) parseLag(g *scalerGiven) {
	s.Lag = LagScaler{
		CollectionInterval: int64(deref(g.Interval, 30_000)), CollectionRange: int64(deref(g.Range, 600_000)),
		StartDelay: int64(deref(g.StartDelay, 300_000)), ActionPeriod: int64(deref(g.Period, 60_000)),
		OutThreshold: int64(deref(g.Out, 6_000_000)), InThreshold: int64(deref(g.In, 1_000_000)),
		OutFraction: valueOr(g.OutPart, 0.3), InFraction: valueOr(g.InPart, 0.9),
		InStep: within(int64(deref(g.InStep, 1))), OutStep: within(int64(deref(g.OutStep, 2))), Aggregate: valueOr(g.Aggregate, "SUM"),
	}
}

func (s *Scaler) parseCost(g *scalerGiven) {
	s.Cost = CostScaler{
		ActionPeriod: int64(deref(g.Period, 120_000)), LagWeight: valueOr(g.LagWeight, 0.4), IdleWeight: valueOr(g.IdleWeight, 0.6),
		BoundUp: valueOr(g.BoundUp, false), BoundDown: valueOr(g.BoundDown, true), DownAtRollover: g.Rollover,
		CriticalLag: (*int64)(g.Critical), HighLagFactor: valueOr(g.HighFactor, 6),
	}
}

// show sets what is shown, in the order of the interface.
func (s *Scaler) show(g *scalerGiven) (err error) {
	common := struct {
		Max       int      `json:"taskCountMax"`
		Min       int      `json:"taskCountMin"`
		Start     *int     `json:"taskCountStart,omitempty"`
		Enabled   bool     `json:"enableTaskAutoScaler"`
		Frequency int64    `json:"minTriggerScaleActionFrequencyMillis"`
		StopRatio *float64 `json:"stopTaskCountRatio,omitempty"`
	}{s.Max, s.Min, s.Start, s.Enabled, s.Frequency, g.StopRatio}
	switch s.Strategy {
	case CostBased:
		s.shown, err = json.Marshal(struct {
			Strategy   string   `json:"autoScalerStrategy"`
			Period     int64    `json:"scaleActionPeriodMillis"`
			LagWeight  float64  `json:"lagWeight"`
			IdleWeight float64  `json:"idleWeight"`
			BoundUp    bool     `json:"useTaskCountBoundariesOnScaleUp"`
			BoundDown  bool     `json:"useTaskCountBoundariesOnScaleDown"`
			UpDelay    duration `json:"minScaleUpDelay"`
			DownDelay  duration `json:"minScaleDownDelay"`
			Rollover   bool     `json:"scaleDownDuringTaskRolloverOnly"`
			Critical   *int64   `json:"criticalLagThreshold"`
			HighFactor float64  `json:"highLagCostFactor"`
		}{s.Strategy, s.Cost.ActionPeriod, s.Cost.LagWeight, s.Cost.IdleWeight, s.Cost.BoundUp, s.Cost.BoundDown, duration(s.UpDelay),
			duration(s.DownDelay), s.Cost.DownAtRollover, s.Cost.CriticalLag, s.Cost.HighLagFactor})
	case RateBased:
		s.shown, err = json.Marshal(struct {
			Strategy  string   `json:"autoScalerStrategy"`
			Period    int64    `json:"scaleActionPeriodMillis"`
			Recovery  int64    `json:"recoveryTargetMillis"`
			Rate      float64  `json:"recordsPerSecondPerTask"`
			Band      float64  `json:"deadBand"`
			UpDelay   duration `json:"minScaleUpDelay"`
			DownDelay duration `json:"minScaleDownDelay"`
		}{s.Strategy, s.Rate.ActionPeriod, s.Rate.Recovery, s.Rate.Rate, s.Rate.Band, duration(s.UpDelay), duration(s.DownDelay)})
	default:
		lag := &s.Lag
		s.shown, err = json.Marshal(struct {
			Strategy   string  `json:"autoScalerStrategy"`
			Interval   int64   `json:"lagCollectionIntervalMillis"`
			Range      int64   `json:"lagCollectionRangeMillis"`
			StartDelay int64   `json:"scaleActionStartDelayMillis"`
			Period     int64   `json:"scaleActionPeriodMillis"`
			Out        int64   `json:"scaleOutThreshold"`
			In         int64   `json:"scaleInThreshold"`
			OutPart    float64 `json:"triggerScaleOutFractionThreshold"`
			InPart     float64 `json:"triggerScaleInFractionThreshold"`
			InStep     int     `json:"scaleInStep"`
			OutStep    int     `json:"scaleOutStep"`
			Aggregate  *string `json:"lagAggregate"`
		}{s.Strategy, lag.CollectionInterval, lag.CollectionRange, lag.StartDelay, lag.ActionPeriod, lag.OutThreshold, lag.InThreshold,
			lag.OutFraction, lag.InFraction, lag.InStep, lag.OutStep, g.Aggregate})
	}
	if err != nil {
		return err
	}
	more, err := json.Marshal(common)
	s.shown = joinObjects(s.shown, more)
	return err
}

// joinObjects returns one object of the members of two that have some each.
func joinObjects(a, b json.RawMessage) json.RawMessage {
	return append(append(a[:len(a)-1:len(a)-1], ','), b[1:]...)
}

// MarshalJSON returns the config with defaults for all members of its strategy.
func (s *Scaler) MarshalJSON() ([]byte, error) { return s.shown, nil }

// millis is length for one that may also be given as a number of milliseconds.
func (p *periods) millis(name string, text json.RawMessage, usual string) int64 {
	if absent(text) {
		return int64(p.length(name, nil, usual))
	}
	var n integer
	if text[0] != '"' && n.UnmarshalJSON(text) == nil {
		return int64(n)
	}
	var s string
	if json.Unmarshal(text, &s) != nil {
		s = string(text)
	}
	return int64(p.length(name, &s, ""))
}
