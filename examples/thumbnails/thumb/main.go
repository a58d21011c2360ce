// Command thumb makes one thumbnail. It is an ordinary program that does not know redrive: it reads
// a JSON payload from standard input, writes one file, prints one line of JSON, and reports the
// kind of a failure by its exit code.
//
//	echo '{"image": "images/harbour.jpg", "size": 256}' | thumb -out thumbnails
//
// The same payload always gives the same file, so running it twice is harmless.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Exit codes as in sysexits(3). After 64 and 65, another try gives the same result.
const (
	exitUsage     = 64 // the command line or the payload is wrong
	exitData      = 65 // the input exists, but it is not a usable image
	exitNoInput   = 66 // the input does not exist or cannot be opened
	exitCantWrite = 73 // the output file cannot be created
	exitIO        = 74 // reading or writing failed in the middle
	exitTempFail  = 75 // the machine ran out of something: disk, memory, file handles
)

// Limits for the payload and the input.
const (
	payloadBytesMax = 64 << 10
	inputBytesMax   = 64 << 20
	sizeMax         = 2048
)

// payload is the job: which image, and how long the longer side of its thumbnail may be.
type payload struct {
	Image string `json:"image"` // the path of the image below the folder of the flag -in, with slashes
	Size  int    `json:"size"`  // the length of the longer side in pixels, 1 to sizeMax
}

// result is the line that a successful run prints to standard output.
type result struct {
	Thumbnail string `json:"thumbnail"`
	Width     int    `json:"width"`
	Height    int    `json:"height"`
	Bytes     int    `json:"bytes"`
}

// exitError is an error with its exit code.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

func exitf(code int, format string, args ...any) error {
	return &exitError{code, fmt.Errorf(format, args...)}
}

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run runs the program and returns the exit code.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("thumb", flag.ContinueOnError)
	flags.SetOutput(stderr)
	in := flags.String("in", ".", "folder that the image paths are relative to")
	out := flags.String("out", "out", "folder for the thumbnails")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return exitUsage
	case flags.NArg() > 0:
		fmt.Fprintf(stderr, "thumb: unexpected argument %q; name the image in the payload on standard input", flags.Arg(0))
		return exitUsage
	}

	res, err := makeThumbnail(*in, *out, stdin)
	if err == nil {
		err = printResult(stdout, res)
	}
	if err == nil {
		return 0
	}
	fmt.Fprintln(stderr, "thumb:", err)
	if e, ok := errors.AsType[*exitError](err); ok {
		return e.code
	}
	return exitIO
}

func printResult(stdout io.Writer, res result) error {
	if err := json.NewEncoder(stdout).Encode(res); err != nil {
		return exitf(shortage(err, exitIO), "standard output: %w", err)
	}
	return nil
}

// makeThumbnail does one job: payload in, file out.
func makeThumbnail(in, out string, stdin io.Reader) (result, error) {
	p, err := readPayload(stdin)
	if err != nil {
		return result{}, err
	}
	data, err := readInput(in, p.Image)
	if err != nil {
		return result{}, err
	}
	src, format, err := decode(data)
	if err != nil {
		return result{}, exitf(exitData, "%s: %w", p.Image, err)
	}
	b := src.Bounds()
	thumb := shrink(src, fit(b.Dx(), b.Dy(), p.Size))
	encoded, ext, err := encode(thumb, format)
	if err != nil {
		return result{}, exitf(exitData, "%s: %w", p.Image, err)
	}
	name := thumbnailPath(out, p, ext)
	if err := writeFile(name, encoded); err != nil {
		return result{}, err
	}
	size := thumb.Bounds().Size()
	return result{filepath.ToSlash(name), size.X, size.Y, len(encoded)}, nil
}

func readPayload(stdin io.Reader) (payload, error) {
	var p payload
	data, err := io.ReadAll(io.LimitReader(stdin, payloadBytesMax+1))
	if err != nil {
		return p, exitf(exitIO, "payload: %w", err)
	}
	if len(data) > payloadBytesMax {
		return p, exitf(exitUsage, "payload: longer than %d bytes", payloadBytesMax)
	}
	if err := json.Unmarshal(data, &p); err != nil {
		return p, exitf(exitUsage, "payload: %w; want {\"image\": \"images/harbour.jpg\", \"size\": 256}", err)
	}
	if !filepath.IsLocal(filepath.FromSlash(p.Image)) {
		return p, exitf(exitUsage, "payload: image %q: want a relative path that stays inside the input folder", p.Image)
	}
	if p.Size < 1 || p.Size > sizeMax {
		return p, exitf(exitUsage, "payload: size %d: want 1 to %d pixels", p.Size, sizeMax)
	}
	return p, nil
}

// readInput reads the whole image file. It uses os.Root, because a symbolic link could lead
// out of the input folder, and a check of the path alone does not notice that.
func readInput(in, image string) ([]byte, error) {
	root, err := os.OpenRoot(in)
	if err != nil {
		return nil, exitf(shortage(err, exitNoInput), "input folder: %w", err)
	}
	defer root.Close()

	// Stat comes before Open, because opening a named pipe would wait for its writer.
	name := filepath.FromSlash(image)
	info, err := root.Stat(name)
	if err != nil {
		return nil, exitf(shortage(err, exitNoInput), "%s: %w", image, cause(err))
	}
	if !info.Mode().IsRegular() {
		return nil, exitf(exitData, "%s: not a regular file", image)
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, exitf(shortage(err, exitNoInput), "%s: %w", image, cause(err))
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, inputBytesMax+1))
	if err != nil {
		return nil, exitf(shortage(err, exitIO), "%s: %w", image, cause(err))
	}
	if len(data) > inputBytesMax {
		return nil, exitf(exitData, "%s: larger than %d MiB", image, inputBytesMax>>20)
	}
	return data, nil
}

// cause removes the system call and the path from a file error, because the message of the program
// already names the image.
func cause(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}

// shortage returns exitTempFail if err says that the machine ran out of something, and the
// given code otherwise.
func shortage(err error, code int) int {
	for _, errno := range []syscall.Errno{
		syscall.ENOSPC, syscall.EDQUOT, syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.EAGAIN,
	} {
		if errors.Is(err, errno) {
			return exitTempFail
		}
	}
	return code
}
