package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/hengedb/henge/cmd/henge/termtext"
	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/role"
)

// platform tells of the program and the machine.
func (d *doctor) platform() string {
	var out strings.Builder
	now := d.clock.Now()
	fmt.Fprintf(&out, "henge %s\n", versionText())
	fmt.Fprintf(&out, "system: %s/%s, %d cores of %d\n", runtime.GOOS, runtime.GOARCH, budget.Cores(), runtime.NumCPU())
	zone, _ := now.Zone()
	fmt.Fprintf(&out, "time: %s, zone %s\n", now.Format(time.RFC3339), zone)
	if _, built := revision(); built != "" {
		if day, err := time.Parse(time.RFC3339, built); err == nil && now.Before(day) {
			d.problem("The clock of this machine shows %s, which is before this program was built", now.Format(time.RFC3339))
		}
	}
	for _, of := range []struct{ file, wanted string }{
		{"/etc/os-release", "PRETTY_NAME"}, {"/proc/version", ""}, {"/proc/meminfo", "Mem"}, {"/proc/meminfo", "Swap"},
		{"/sys/fs/cgroup/memory.max", ""}, {"/sys/fs/cgroup/cpu.max", ""}, {"/proc/loadavg", ""},
	} {
		text, err := os.ReadFile(of.file)
		if err != nil {
			continue // another system
		}
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(line, of.wanted) {
				fmt.Fprintf(&out, "%s: %s\n", of.file, strings.TrimSpace(line))
			}
		}
	}
	var files syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files) == nil {
		fmt.Fprintf(&out, "open files: at most %d\n", files.Cur)
	}
	fmt.Fprintf(&out, "user: %d\n", os.Getuid())
	return out.String()
}

// settingsText are the settings that are set, with the sources of each.
func (d *doctor) settingsText() string {
	if d.settings == nil {
		d.problem("The settings can't be read: %s", messageOf(d.wrong))
		return "# They can't be read: " + strings.ReplaceAll(messageOf(d.wrong), "\n", "\n# ") + "\n"
	}
	var out strings.Builder
	out.WriteString(d.settings.Properties(false))
	for _, key := range d.settings.Set() {
		fmt.Fprintf(&out, "# %s is set by %s\n", key, d.settings.Source(key))
	}
	return out.String()
}

// check is what henge check-config finds, with the stores.
func (d *doctor) check(ctx context.Context) string {
	if d.settings == nil {
		return "skipped: the settings can't be read\n"
	}
	roles, err := role.ParseRoles(d.roles)
	if err != nil {
		d.problem("%s", messageOf(err))
		return messageOf(err) + "\n"
	}
	ctx, cancel := context.WithTimeout(ctx, connectPatience)
	defer cancel()
	var out strings.Builder
	o := role.Options{Settings: d.settings, Roles: roles, Version: version, Clock: d.clock, Log: slog.New(slog.DiscardHandler)}
	for _, f := range role.Check(ctx, o, true) {
		switch {
		case f.Problem != "":
			fmt.Fprintf(&out, "problem  %s: %s\n", f.About, f.Problem)
			d.problem("Problem: %s: %s", f.About, f.Problem)
		case f.Warning != "":
			fmt.Fprintf(&out, "warning  %s: %s\n", f.About, f.Warning)
			if f.About != "data directory" { // that a server uses it is why there is a report
				d.problem("Warning: %s: %s", f.About, f.Warning)
			}
		default:
			fmt.Fprintf(&out, "ok       %s: %s\n", f.About, f.Fine)
		}
	}
	return out.String()
}

// folders are the directories that the settings name, by setting.
func (d *doctor) folders() [][2]string {
	if d.settings == nil {
		return nil
	}
	out := [][2]string{{"service.data.dir", d.settings.Text("service.data.dir")}}
	for _, key := range []string{"service.processing.tmpDir", "service.segmentCache.directory", "service.storage.storageDirectory"} {
		if path := d.settings.Text(key); path != "" {
			out = append(out, [2]string{key, path})
		}
	}
	for _, l := range d.settings.Locations() {
		out = append(out, [2]string{"service.segmentCache.locations", l.Path})
	}
	return out
}

// scarce is the part of a disk that should be free: less is a warning.
const scarce = 20

// disks tells how full the disks of the folders are.
func (d *doctor) disks() string {
	var out strings.Builder
	for _, folder := range d.folders() {
		key, path := folder[0], folder[1]
		var disk syscall.Statfs_t
		if err := syscall.Statfs(path, &disk); err != nil {
			fmt.Fprintf(&out, "%s [%s]: %v\n", key, path, err)
			continue
		}
		block := int64(disk.Bsize)                                        //nolint:unconvert // other systems have other types
		whole, free := int64(disk.Blocks)*block, int64(disk.Bavail)*block //nolint:unconvert // likewise
		fmt.Fprintf(&out, "%s [%s]: %s of %s bytes are free, %s of %s inodes\n", key, path, grouped(free), grouped(whole),
			grouped(int64(disk.Ffree)), grouped(int64(disk.Files))) //nolint:unconvert // likewise
		if free < whole/scarce {
			d.problem("Warning: the disk of [%s] (%s) has only %s of %s bytes free", path, key, grouped(free), grouped(whole))
		}
	}
	return out.String()
}

// layoutDepth is how deep the layout names folders; those below are in the sums.
const layoutDepth = 3

// layout tells how many files the folders have and how large they are, without what is in them.
func (d *doctor) layout() string {
	var out strings.Builder
	for _, folder := range d.folders() {
		root := folder[1]
		files, sizes := map[string]int64{}, map[string]int64{}
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return nil //nolint:nilerr // what can't be read is not counted
			}
			info, err := entry.Info()
			if err != nil {
				return nil //nolint:nilerr // it was deleted meanwhile
			}
			at, err := filepath.Rel(root, filepath.Dir(path))
			if err != nil {
				return err
			}
			if parts := strings.Split(at, string(filepath.Separator)); len(parts) > layoutDepth {
				at = filepath.Join(parts[:layoutDepth]...)
			}
			files[at]++
			sizes[at] += info.Size()
			return nil
		})
		fmt.Fprintf(&out, "%s [%s], bytes, files, folder:\n", folder[0], root)
		if err != nil {
			fmt.Fprintf(&out, "%v\n", err)
		}
		names := make([]string, 0, len(files))
		for name := range files {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			fmt.Fprintf(&out, "%20s %10s  %s\n", grouped(sizes[name]), grouped(files[name]), name)
		}
	}
	return out.String()
}

// logTail is how many bytes of the end of a log a report has.
const logTail = 1 << 20

// addLog adds the end of the log that the user named.
func (d *doctor) addLog(in io.Reader) error {
	if d.logFile == "" {
		return nil
	}
	text, err := tailOf(d.logFile, in)
	if err != nil {
		return fault.InvalidInput("Log [%s] can't be read: %v", d.logFile, reasonOf(err))
	}
	var out strings.Builder
	for line := range strings.Lines(strings.ToValidUTF8(string(text), "?")) {
		out.WriteString(termtext.Harmless(d.logLine(d.masked(strings.TrimRight(line, "\r\n")))) + "\n")
	}
	d.add("log.txt", out.String())
	return nil
}

// tailOf returns the end of a file from the begin of a line on.
func tailOf(file string, in io.Reader) ([]byte, error) {
	var text []byte
	if file == "-" {
		all, err := io.ReadAll(in)
		if err != nil {
			return nil, err
		}
		text = all[max(0, len(all)-logTail):]
		if len(text) == len(all) {
			return text, nil
		}
	} else {
		f, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		size, err := f.Seek(0, io.SeekEnd)
		if err != nil {
			return nil, err
		}
		from := max(0, size-logTail)
		text = make([]byte, size-from)
		n, err := f.ReadAt(text, from)
		if text = text[:n]; err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		if from == 0 {
			return text, nil
		}
	}
	_, text, _ = bytes.Cut(text, []byte("\n"))
	return text, nil
}
