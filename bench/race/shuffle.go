package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math/rand"
	"os"
)

// shuffleSeed makes the order of shuffled files the same each time.
const shuffleSeed = 7

// shuffleLines writes the lines of a file in random order; the first stays where it is if it is a
// header. It holds 8 bytes a line.
func shuffleLines(from, to string, header bool) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	ends, err := lineEnds(in)
	if err != nil {
		return fmt.Errorf("reading the lines of [%s]: %w", from, err)
	}
	lines := make([]int, len(ends))
	for i := range lines {
		lines[i] = i
	}
	random := lines
	if header {
		random = lines[1:]
	}
	rand.New(rand.NewSource(shuffleSeed)).Shuffle(len(random), func(i, j int) { random[i], random[j] = random[j], random[i] })
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	defer out.Close()
	w := bufio.NewWriterSize(out, 1<<20)
	var line []byte
	for _, i := range lines {
		start := int64(0)
		if i > 0 {
			start = ends[i-1]
		}
		line = append(line[:0], make([]byte, ends[i]-start)...)
		if _, err := in.ReadAt(line, start); err != nil {
			return fmt.Errorf("reading line [%d] of [%s]: %w", i+1, from, err)
		}
		if _, err := w.Write(line); err != nil {
			return err
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return out.Sync()
}

// lineEnds returns the offsets behind the lines of a file, whose last one ends with a newline.
func lineEnds(in io.Reader) ([]int64, error) {
	var ends []int64
	block, at := make([]byte, 1<<20), int64(0)
	for {
		n, err := in.Read(block)
		for rest := block[:n]; ; {
			i := bytes.IndexByte(rest, '\n')
			if i < 0 {
				at += int64(len(rest))
				break
			}
			at += int64(i) + 1
			ends, rest = append(ends, at), rest[i+1:]
		}
		if err == io.EOF {
			return ends, nil
		}
		if err != nil {
			return nil, err
		}
	}
}
