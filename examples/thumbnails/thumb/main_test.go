package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// example is the folder that jobs.jsonl's paths are relative to.
const example = ".."

// thumb runs the program with a payload and returns its exit code, result and stderr.
func thumb(t *testing.T, stdin string, args ...string) (int, result, string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := run(args, strings.NewReader(stdin), &stdout, &stderr)

	var res result
	if code == 0 {
		if err := json.Unmarshal(stdout.Bytes(), &res); err != nil {
			t.Fatalf("stdout is %q, want JSON: %v", stdout.String(), err)
		}
		if n := strings.Count(stdout.String(), "\n"); n != 1 {
			t.Errorf("stdout has %d lines, want 1: %q", n, stdout.String())
		}
	} else if stdout.Len() > 0 {
		t.Errorf("exit code %d with the output %q on stdout, want no output after a failure", code, stdout.String())
	}
	return code, res, stderr.String()
}

// exampleJobs reads the payloads of jobs.jsonl.
func exampleJobs(t *testing.T) []payload {
	t.Helper()
	f, err := os.Open(filepath.Join(example, "jobs.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var payloads []payload
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var job struct {
			Kind    string
			Payload payload
		}
		if err := json.Unmarshal(lines.Bytes(), &job); err != nil {
			t.Fatalf("decode the line %s of jobs.jsonl: %v", lines.Text(), err)
		}
		if job.Kind != "thumbnail" {
			t.Errorf("kind %q in jobs.jsonl, want thumbnail", job.Kind)
		}
		payloads = append(payloads, job.Payload)
	}
	return payloads
}

func TestExampleJobsNameEveryImage(t *testing.T) {
	t.Parallel()
	want := map[string]bool{"images/late.png": true} // run.sh delivers this image later
	files, err := filepath.Glob(filepath.Join(example, "images", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		want["images/"+filepath.Base(file)] = true
	}
	got := map[string]bool{}
	for _, p := range exampleJobs(t) {
		got[p.Image] = true
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("wrong images in jobs.jsonl or in images/ (-want +got):\n%s", diff)
	}
}

func TestExampleJobs(t *testing.T) {
	t.Parallel()
	failures := map[string]struct {
		code int
		says string
	}{
		"images/truncated.png": {exitData, "damaged or cut short"},
		"images/notes.jpg":     {exitData, "not a PNG, JPEG or GIF image"},
		"images/empty.gif":     {exitData, "empty"},
		"images/late.png":      {exitNoInput, "thumb: images/late.png: no such file"},
	}
	for _, p := range exampleJobs(t) {
		t.Run(p.Image, func(t *testing.T) {
			t.Parallel()
			out := t.TempDir()
			stdin, _ := json.Marshal(p)
			code, res, stderr := thumb(t, string(stdin), "-in", example, "-out", out)

			want := failures[p.Image]
			if code != want.code {
				t.Fatalf("got exit code %d, want %d; stderr: %s", code, want.code, stderr)
			}
			if code != 0 {
				if !strings.Contains(stderr, p.Image) || !strings.Contains(stderr, want.says) {
					t.Errorf("stderr is %q, want the image %s and the text %q in it", stderr, p.Image, want.says)
				}
				if left := filesBelow(t, out); len(left) > 0 {
					t.Errorf("a failed run left the files %v, want none", left)
				}
				return
			}
			checkThumbnail(t, filepath.Join(example, p.Image), res, p.Size)
			if left := filesBelow(t, out); len(left) != 1 {
				t.Errorf("the output folder contains %v, want only the thumbnail", left)
			}
		})
	}
}

func TestLateUploadSucceedsOnceItIsThere(t *testing.T) {
	t.Parallel()
	in, out := t.TempDir(), t.TempDir()
	const job = `{"image": "late.png", "size": 128}`

	if code, _, stderr := thumb(t, job, "-in", in, "-out", out); code != exitNoInput {
		t.Fatalf("before the upload of the image: got exit code %d, want %d; stderr: %s", code, exitNoInput, stderr)
	}
	data, err := os.ReadFile(filepath.Join(example, "upload", "late.png"))
	if err != nil {
		t.Fatal(err)
	}
	writeTestFile(t, filepath.Join(in, "late.png"), data)
	code, res, stderr := thumb(t, job, "-in", in, "-out", out)
	if code != 0 {
		t.Fatalf("after the upload of the image: got exit code %d, want 0; stderr: %s", code, stderr)
	}
	checkThumbnail(t, filepath.Join(in, "late.png"), res, 128)
}

func TestBadPayloads(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, stdin, says string }{
		{"empty", ``, "payload"},
		{"not JSON", `harbour.jpg`, "payload"},
		{"two values", `{"image":"a.png","size":1}{}`, "payload"},
		{"wrong type", `{"image":"a.png","size":"large"}`, "size"},
		{"no image", `{"size":256}`, "image"},
		{"no size", `{"image":"a.png"}`, "size 0: want 1 to 2048"},
		{"size above the bound", `{"image":"a.png","size":2049}`, "want 1 to 2048"},
		{"negative size", `{"image":"a.png","size":-1}`, "want 1 to 2048"},
		{"absolute path", `{"image":"/etc/hostname","size":256}`, "stays inside"},
		{"path that climbs out", `{"image":"images/../../a.png","size":256}`, "stays inside"},
		{"too long", `{"image":"` + strings.Repeat("a", payloadBytesMax) + `","size":256}`, "longer than 65536 bytes"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			code, _, stderr := thumb(t, tt.stdin, "-in", example, "-out", t.TempDir())
			if code != exitUsage || !strings.Contains(stderr, tt.says) {
				t.Errorf("got exit code %d, stderr %q; want exit code %d and %q in stderr", code, stderr, exitUsage, tt.says)
			}
		})
	}
}

func TestSizeBoundIsInclusive(t *testing.T) {
	t.Parallel()
	for _, size := range []int{1, sizeMax} {
		job := fmt.Sprintf(`{"image": "images/latency-chart.png", "size": %d}`, size)
		if code, _, stderr := thumb(t, job, "-in", example, "-out", t.TempDir()); code != 0 {
			t.Errorf("size %d: got exit code %d, stderr %q; want exit code 0", size, code, stderr)
		}
	}
}

func TestBadCommandLine(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"-size", "3"}, {"images/harbour.jpg"}} {
		if code, _, stderr := thumb(t, "", args...); code != exitUsage || stderr == "" {
			t.Errorf("arguments %v: got exit code %d, stderr %q; want exit code %d and a message", args, code, stderr, exitUsage)
		}
	}
}

func TestUnusableInputs(t *testing.T) {
	t.Parallel()
	in := t.TempDir()
	writeTestFile(t, filepath.Join(in, "claims.png"), pngHeader(50_001, 1_000))
	writeTestFile(t, filepath.Join(in, "huge.png"), nil)
	if err := os.Truncate(filepath.Join(in, "huge.png"), inputBytesMax+1); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(in, "folder.png"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/hostname", filepath.Join(in, "escape.png")); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		image string
		code  int
		says  string
	}{
		{"claims.png", exitData, "more than 50 megapixels"},
		{"huge.png", exitData, "larger than 64 MiB"},
		{"folder.png", exitData, "not a regular file"},
		{"escape.png", exitNoInput, "escapes"},
		{"missing/a.png", exitNoInput, "no such file"},
	}
	for _, tt := range tests {
		t.Run(tt.image, func(t *testing.T) {
			t.Parallel()
			code, _, stderr := thumb(t, `{"image":"`+tt.image+`","size":64}`, "-in", in, "-out", t.TempDir())
			if code != tt.code || !strings.Contains(stderr, tt.says) {
				t.Errorf("got exit code %d, stderr %q; want exit code %d and %q in stderr", code, stderr, tt.code, tt.says)
			}
		})
	}
}

func TestUnwritableOutputs(t *testing.T) {
	t.Parallel()
	const job = `{"image": "images/dial.gif", "size": 64}`

	t.Run("a file where the folder should be", func(t *testing.T) {
		t.Parallel()
		out := filepath.Join(t.TempDir(), "out")
		writeTestFile(t, out, []byte("in the way"))
		if code, _, stderr := thumb(t, job, "-in", example, "-out", out); code != exitCantWrite {
			t.Errorf("got exit code %d, stderr %q; want exit code %d", code, stderr, exitCantWrite)
		}
	})
	t.Run("a folder where the thumbnail should be", func(t *testing.T) {
		t.Parallel()
		out := t.TempDir()
		if err := os.MkdirAll(filepath.Join(out, "images", "dial.gif-64.png", "x"), 0o755); err != nil {
			t.Fatal(err)
		}
		if code, _, stderr := thumb(t, job, "-in", example, "-out", out); code != exitIO {
			t.Errorf("got exit code %d, stderr %q; want exit code %d", code, stderr, exitIO)
		}
		if left := filesBelow(t, out); len(left) > 0 {
			t.Errorf("a failed write left the files %v, want none", left)
		}
	})
	t.Run("a broken standard output", func(t *testing.T) {
		t.Parallel()
		var stderr bytes.Buffer
		code := run([]string{"-in", example, "-out", t.TempDir()}, strings.NewReader(job), brokenWriter{}, &stderr)
		if code != exitIO {
			t.Errorf("got exit code %d, stderr %q; want exit code %d", code, stderr.String(), exitIO)
		}
	})
}

func TestShortageIsTemporary(t *testing.T) {
	t.Parallel()
	tests := []struct {
		err  error
		want int
	}{
		{&fs.PathError{Op: "write", Path: "a", Err: syscall.ENOSPC}, exitTempFail},
		{&fs.PathError{Op: "open", Path: "a", Err: syscall.EMFILE}, exitTempFail},
		{&fs.PathError{Op: "open", Path: "a", Err: syscall.EACCES}, exitCantWrite},
		{errors.New("no space left on device"), exitCantWrite}, // only the type of an error counts, not its text
	}
	for _, tt := range tests {
		if got := shortage(tt.err, exitCantWrite); got != tt.want {
			t.Errorf("exit code for the error %v: got %d, want %d", tt.err, got, tt.want)
		}
	}
}

func TestSamePayloadGivesSameFile(t *testing.T) {
	t.Parallel()
	out := t.TempDir()
	var contents [2][]byte
	for i := range contents {
		code, res, stderr := thumb(t, `{"image": "images/harbour.jpg", "size": 100}`, "-in", example, "-out", out)
		if code != 0 {
			t.Fatalf("run %d: got exit code %d, stderr %q; want exit code 0", i+1, code, stderr)
		}
		var err error
		if contents[i], err = os.ReadFile(res.Thumbnail); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(contents[0], contents[1]) {
		t.Error("two runs with the same payload wrote different files, want equal files")
	}
	if files := filesBelow(t, out); len(files) != 1 {
		t.Errorf("two runs with the same payload left %v, want one file", files)
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, syscall.EPIPE }

func writeTestFile(t *testing.T, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(name, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// filesBelow lists all regular files below dir, hidden ones too.
func filesBelow(t *testing.T, dir string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// pngHeader returns the begin of a valid PNG, up to its first chunk, which has the given size of
// the picture.
func pngHeader(width, height uint32) []byte {
	ihdr := binary.BigEndian.AppendUint32([]byte("IHDR"), width)
	ihdr = binary.BigEndian.AppendUint32(ihdr, height)
	ihdr = append(ihdr, 8, 6, 0, 0, 0)
	data := binary.BigEndian.AppendUint32([]byte("\x89PNG\r\n\x1a\n"), uint32(len(ihdr)-4))
	data = append(data, ihdr...)
	return binary.BigEndian.AppendUint32(data, crc32.ChecksumIEEE(ihdr))
}
