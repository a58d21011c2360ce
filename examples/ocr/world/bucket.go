package world

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"syscall"

	"gocloud.dev/blob"
	"gocloud.dev/blob/driver"
	"gocloud.dev/blob/fileblob"
	"gocloud.dev/gcerrors"
)

// OpenBucket opens a folder as object storage, with the faults of the plan. The program uses it
// like a bucket of gocloud.dev/blob/s3blob or gcsblob.
func OpenBucket(folder string, p *Plan) (*blob.Bucket, error) {
	inner, err := fileblob.OpenBucket(folder, &fileblob.Options{CreateDir: true, Metadata: fileblob.MetadataDontWrite})
	if err != nil {
		return nil, fmt.Errorf("open bucket: %w", err)
	}
	return blob.NewBucket(&flaky{inner: inner, plan: p}), nil
}

// flaky is a gocloud driver that passes every call to another bucket, with the faults of a plan.
type flaky struct {
	inner *blob.Bucket
	plan  *Plan
}

// storageError is a driver's error for a response with an error status.
type storageError struct {
	op, key string
	status  int
}

func (e *storageError) Error() string {
	return fmt.Sprintf("%s object: %d %s", e.op, e.status, http.StatusText(e.status))
}

// StatusCode returns the status, as errors of many SDKs do.
func (e *storageError) StatusCode() int { return e.status }

func (f *flaky) NewRangeReader(ctx context.Context, key string, offset, length int64, _ *driver.ReaderOptions) (driver.Reader, error) {
	met := f.plan.meet(Called{Where: Read, Subject: key})
	if met.Status != http.StatusOK && met.Status != Cut {
		return nil, &storageError{"get", key, met.Status}
	}
	r, err := f.inner.NewRangeReader(ctx, key, offset, length, nil)
	if err != nil {
		return nil, err
	}
	left := int64(Always)
	if met.Status == Cut {
		left = r.Size() / 2
	}
	return &reader{Reader: r, left: left}, nil
}

// reader reads an object. It returns an error after some bytes, as if the connection
// broke in the middle of the body.
type reader struct {
	*blob.Reader
	left int64
}

func (r *reader) Read(b []byte) (int, error) {
	if r.left == 0 {
		return 0, io.ErrUnexpectedEOF
	}
	n, err := r.Reader.Read(b[:min(int64(len(b)), r.left)])
	r.left -= int64(n)
	return n, err
}

func (r *reader) Attributes() *driver.ReaderAttributes {
	return &driver.ReaderAttributes{ContentType: r.ContentType(), ModTime: r.ModTime(), Size: r.Size()}
}

func (f *flaky) NewTypedWriter(ctx context.Context, key, contentType string, _ *driver.WriterOptions) (driver.Writer, error) {
	met := f.plan.meet(Called{Where: Write, Subject: key})
	if met.Status != http.StatusOK && met.Status != Cut {
		return nil, &storageError{"put", key, met.Status}
	}
	ctx, cancel := context.WithCancel(ctx)
	w, err := f.inner.NewWriter(ctx, key, &blob.WriterOptions{ContentType: contentType})
	if err != nil {
		cancel()
		return nil, err
	}
	return &writer{Writer: w, cut: met.Status == Cut, cancel: cancel}, nil
}

// writer writes an object. It returns an error before the object is complete, as if the
// connection broke, and stores no object.
type writer struct {
	*blob.Writer
	cut    bool
	cancel context.CancelFunc
}

func (w *writer) Close() error {
	defer w.cancel()
	if !w.cut {
		return w.Writer.Close()
	}
	w.cancel()
	w.Writer.Close() //nolint:errcheck // the write is cancelled, so nothing is stored
	return fmt.Errorf("put object: write: %w", syscall.ECONNRESET)
}

func (f *flaky) Attributes(ctx context.Context, key string) (*driver.Attributes, error) {
	a, err := f.inner.Attributes(ctx, key)
	if err != nil {
		return nil, err
	}
	return &driver.Attributes{ContentType: a.ContentType, ModTime: a.ModTime, Size: a.Size, MD5: a.MD5, ETag: a.ETag}, nil
}

func (f *flaky) Delete(ctx context.Context, key string, _ *driver.DeleteOptions) error {
	return f.inner.Delete(ctx, key)
}

func (f *flaky) Close() error                           { return f.inner.Close() }
func (f *flaky) ErrorCode(err error) gcerrors.ErrorCode { return gcerrors.Code(err) }
func (f *flaky) As(any) bool                            { return false }
func (f *flaky) ErrorAs(err error, i any) bool          { return f.inner.ErrorAs(err, i) }
func (r *reader) As(any) bool                           { return false }

var errUnused = errors.New("the example does not use this method")

func (f *flaky) ListPaged(context.Context, *driver.ListOptions) (*driver.ListPage, error) {
	return nil, errUnused
}
func (f *flaky) Copy(context.Context, string, string, *driver.CopyOptions) error { return errUnused }
func (f *flaky) SignedURL(context.Context, string, *driver.SignedURLOptions) (string, error) {
	return "", errUnused
}
