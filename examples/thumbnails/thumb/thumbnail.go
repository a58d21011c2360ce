package main

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/draw"
	_ "image/gif" // this import registers the GIF decoder
	"image/jpeg"
	"image/png"
)

// pixelsMax is the largest width × height. It is checked before decoding, because a file of a few
// kilobytes can claim more pixels than the memory can hold. The most expensive format, a
// progressive CMYK JPEG, takes about 20 bytes per pixel while it is decoded, so the limit is about
// 1 GB.
const pixelsMax = 50_000_000

// jpegQuality is a usual value for small pictures.
const jpegQuality = 85

// decode returns the picture and the name of its format. For an animation it returns the
// first frame. The format is recognised by the content, not by the file name. EXIF
// orientation is not applied.
func decode(data []byte) (image.Image, string, error) {
	if len(data) == 0 {
		return nil, "", errors.New("the file is empty")
	}
	config, format, err := image.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return nil, "", explain(err, len(data))
	}
	if err := checkPixels(config.Width, config.Height); err != nil {
		return nil, "", err
	}
	img, _, err := image.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, "", explain(err, len(data))
	}
	return onCanvas(img, image.Rect(0, 0, config.Width, config.Height)), format, nil
}

// onCanvas returns a GIF frame on its whole canvas. The rest of the canvas is transparent.
func onCanvas(frame image.Image, canvas image.Rectangle) image.Image {
	if frame.Bounds() == canvas {
		return frame
	}
	full := image.NewRGBA(canvas)
	draw.Draw(full, frame.Bounds(), frame, frame.Bounds().Min, draw.Src)
	return full
}

func checkPixels(width, height int) error {
	if width < 1 || height < 1 {
		return fmt.Errorf("%d × %d pixels: the picture is empty", width, height)
	}
	if width > pixelsMax/height {
		return fmt.Errorf("%d × %d pixels: more than %d megapixels", width, height, pixelsMax/1_000_000)
	}
	return nil
}

func explain(err error, size int) error {
	if errors.Is(err, image.ErrFormat) {
		return fmt.Errorf("not a PNG, JPEG or GIF image: %w", err)
	}
	return fmt.Errorf("damaged or cut short (%d bytes), fetch it again: %w", size, err)
}

// fit returns the size of the thumbnail: the longer side is as long as the limit, the shorter one
// keeps the aspect ratio and is at least 1. Small pictures are not enlarged.
func fit(width, height, limit int) image.Point {
	longer := max(width, height)
	if longer <= limit {
		return image.Pt(width, height)
	}
	scale := func(side int) int { return max(1, (side*limit+longer/2)/longer) }
	return image.Pt(scale(width), scale(height))
}

// shrink resamples src to size, which must not be larger than src: each new pixel is the average
// of the area that it covers, partly covered pixels counted by their share. The sums are exact
// integers of colours multiplied by their alpha, so transparent pixels do not bleed colour.
func shrink(src image.Image, size image.Point) *image.RGBA {
	bounds := src.Bounds()
	columns := coverage(bounds.Dx(), size.X)
	rows := coverage(bounds.Dy(), size.Y)
	area := uint64(bounds.Dx()) * uint64(bounds.Dy())

	dst := image.NewRGBA(image.Rectangle{Max: size})
	line := image.NewRGBA(image.Rect(0, 0, bounds.Dx(), 1)) // this picture holds one source row, so that a large source need not be copied
	sums := make([]uint64, 4*size.X)
	for y, row := range rows {
		clear(sums)
		for i, share := range row.shares {
			draw.Draw(line, line.Rect, src, image.Pt(bounds.Min.X, bounds.Min.Y+row.first+i), draw.Src)
			addLine(sums, line.Pix, columns, share)
		}
		for i, sum := range sums {
			dst.Pix[y*dst.Stride+i] = uint8((sum + area/2) / area)
		}
	}
	return dst
}

// addLine adds one source row to the sums of a new row, weighted with the row's share.
func addLine(sums []uint64, pix []uint8, columns []span, share uint64) {
	for x, column := range columns {
		var r, g, b, a uint64
		for i, part := range column.shares {
			p := pix[4*(column.first+i):][:4]
			r += part * uint64(p[0])
			g += part * uint64(p[1])
			b += part * uint64(p[2])
			a += part * uint64(p[3])
		}
		s := sums[4*x:][:4]
		s[0] += share * r
		s[1] += share * g
		s[2] += share * b
		s[3] += share * a
	}
}

// span is the part of the source that one new pixel covers along one axis. It has the index of the
// first source pixel, and the covered share of each source pixel, in units of 1/(number of new
// pixels). The shares of a span add up to the number of source pixels.
type span struct {
	first  int
	shares []uint64
}

// coverage divides n source pixels evenly among m new pixels, m ≤ n.
func coverage(n, m int) []span {
	spans := make([]span, m)
	for i := range spans {
		from, to := i*n, (i+1)*n // these numbers are in units of 1/m of a source pixel
		s := span{first: from / m}
		for k := s.first; k*m < to; k++ {
			s.shares = append(s.shares, uint64(min(to, (k+1)*m)-max(from, k*m)))
		}
		spans[i] = s
	}
	return spans
}

// encode writes a JPEG if the source was a JPEG, and otherwise a PNG, because PNG keeps
// transparency.
func encode(img image.Image, format string) (data []byte, ext string, err error) {
	var buf bytes.Buffer
	if format == "jpeg" {
		err = jpeg.Encode(&buf, img, &jpeg.Options{Quality: jpegQuality})
		return buf.Bytes(), ".jpg", err
	}
	err = png.Encode(&buf, img)
	return buf.Bytes(), ".png", err
}
