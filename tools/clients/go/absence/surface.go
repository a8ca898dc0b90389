package absence

import (
	"encoding/hex"
	"errors"
	"math"

	"actlog/verify/entry"
	"actlog/verify/internal/strict"
)

// manifestMembers are the members that surface_manifest_hash is about (log/FORMAT.md §4.4).
var manifestMembers = []string{
	"entity", "surfaces", "valid_from_ms", "valid_until_ms", "heartbeat_interval_ms", "min_detectable_gap_ms",
}

// A span is the time in which a manifest is in force, both ends included.
type span struct {
	fromMS, untilMS int64
	lists           bool
}

// A declaration is what the manifests of a document say of a window.
type declaration struct {
	declared   bool
	intervalMS *int64
}

// readDeclared checks `declared` (log/FORMAT.md §6.6).
func (g *ground) readDeclared(q *Question, v strict.Value) (*declaration, error) {
	key := []string{"manifest", q.Key[1]}
	declared, err := strict.Exact(v, "declared", []string{"manifests", "closing"})
	if err != nil {
		return nil, err
	}
	member, _ := declared.Get("manifests")
	list, err := strict.List(member, "manifests", 10000)
	if err != nil {
		return nil, err
	}
	var last *entry.Opened
	var link *entry.Link
	var spans []span
	before := 0
	d := &declaration{declared: true}
	manifests, err := g.openAll(list)
	if err != nil {
		return nil, err
	}
	for _, manifest := range manifests {
		next, err := manifest.LinkOn(key)
		if err != nil {
			return nil, err
		}
		if last != nil {
			if err := checkNext(last, link, next); err != nil {
				return nil, err
			}
			spans[len(spans)-1].untilMS = min(spans[len(spans)-1].untilMS, manifest.MS)
		}
		s, interval, err := readManifest(q, manifest)
		if err != nil {
			return nil, err
		}
		if interval != nil && (d.intervalMS == nil || *interval < *d.intervalMS) {
			d.intervalMS = interval
		}
		d.declared = d.declared && s.lists
		spans = append(spans, s)
		if manifest.MS < q.FromMS {
			before++
		}
		last, link = manifest, next
	}
	if before != 1 {
		return nil, errors.New("not exactly one manifest was published before the window")
	}
	member, _ = declared.Get("closing")
	c, err := g.readClosing(key, member)
	if err != nil {
		return nil, err
	}
	if err := c.checkFollows(last, link); err != nil {
		return nil, err
	}
	if c.kind == "gap" && c.successor.MS <= q.ToMS {
		return nil, errors.New("successor of the last manifest is not after the window")
	}
	d.declared = d.declared && covered(spans, q.FromMS, q.ToMS)
	return d, nil
}

func readManifest(q *Question, e *entry.Opened) (span, *int64, error) {
	var s span
	if e.Type != "astl.manifest.v1" {
		return s, nil, errors.New("declared shows an entry of another type")
	}
	if e.Statement.Text("entity") != q.Key[1] {
		return s, nil, errors.New("a manifest is of another entity")
	}
	own := strict.NewObject()
	for _, name := range manifestMembers {
		if v, ok := e.Statement.Get(name); ok {
			own.Set(name, v)
		}
	}
	sum := strict.HashCanonical(own)
	if e.Statement.Text("surface_manifest_hash") != hex.EncodeToString(sum[:]) {
		return s, nil, errors.New("surface_manifest_hash of a manifest is wrong")
	}
	from, err := own.Count("valid_from_ms", "valid_from_ms")
	if err != nil {
		return s, nil, err
	}
	s.fromMS, s.untilMS = max(from, e.MS), math.MaxInt64
	if own.Has("valid_until_ms") {
		if s.untilMS, err = own.Count("valid_until_ms", "valid_until_ms"); err != nil {
			return s, nil, err
		}
	}
	surfaces, _ := own.Get("surfaces")
	names, _ := surfaces.([]strict.Value)
	for _, name := range names {
		s.lists = s.lists || name == strict.Value(q.Key[2])
	}
	if !own.Has("heartbeat_interval_ms") {
		return s, nil, nil
	}
	interval, err := own.Count("heartbeat_interval_ms", "heartbeat_interval_ms")
	return s, &interval, err
}

// covered reports whether each millisecond of a window is in one of the spans.
func covered(spans []span, fromMS, toMS int64) bool {
	for at := fromMS; at <= toMS; {
		next := at
		for _, s := range spans {
			if s.fromMS <= at && at <= s.untilMS {
				if s.untilMS >= toMS {
					return true
				}
				next = max(next, s.untilMS+1)
			}
		}
		if next == at {
			return false
		}
		at = next
	}
	return true
}

// A run is that of the heartbeat of a document.
type run struct {
	intervalMS, sinceMS, lastMS int64
}

// readCoverage checks `coverage` (log/FORMAT.md §6.7).
func (g *ground) readCoverage(q *Question, v strict.Value) (*run, error) {
	coverage, err := strict.Exact(v, "coverage", []string{"heartbeat"})
	if err != nil {
		return nil, err
	}
	member, _ := coverage.Get("heartbeat")
	e, err := g.open(member)
	if err != nil {
		return nil, err
	}
	if e.Type != "astl.heartbeat.v1" {
		return nil, errors.New("coverage is not a heartbeat")
	}
	if _, err := e.LinkOn([]string{"heartbeat", q.Key[1], q.Key[2]}); err != nil {
		return nil, err
	}
	if e.Statement.Text("entity") != q.Key[1] || e.Statement.Text("surface") != q.Key[2] {
		return nil, errors.New("the heartbeat is of another surface")
	}
	r := &run{lastMS: e.MS}
	if r.intervalMS, err = e.Statement.Count("interval_ms", "interval_ms of the heartbeat"); err != nil {
		return nil, err
	}
	r.sinceMS, err = e.Statement.Count("run_since_ms", "run_since_ms of the heartbeat")
	return r, err
}

// covers reports whether a run shows that a surface was watched in a window at the promised interval.
func (r *run) covers(q *Question, intervalMS int64) bool {
	return r != nil && r.intervalMS <= intervalMS && r.sinceMS <= q.FromMS+intervalMS && r.lastMS >= q.ToMS-intervalMS
}
