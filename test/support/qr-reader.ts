import jsQR from 'jsqr'

const pixelsPerModule = 4

/** Returns the content and the version of the QR code in a drawing of the payment page. The decoder and the encoder share no code. */
export function readDrawing(svg: string) {
  const size = Number(/viewBox="0 0 (\d+) /.exec(svg)?.[1])
  const width = size * pixelsPerModule
  const pixels = new Uint8ClampedArray(width * width * 4).fill(255)
  for (const [, x, y, length] of svg.matchAll(/M(\d+) (\d+)h(\d+)v1H\1z/g)) {
    const [left, top] = [Number(x) * pixelsPerModule, Number(y) * pixelsPerModule]
    for (let row = top; row < top + pixelsPerModule; row++) {
      const start = (row * width + left) * 4
      for (let at = start; at < start + Number(length) * pixelsPerModule * 4; at += 4) pixels.fill(0, at, at + 3)
    }
  }
  return readPixels(pixels, width)
}

/** Returns the content and the version of the QR code in a picture, whose pixels have four bytes each. */
export function readPixels(pixels: Uint8ClampedArray, width: number) {
  // The package has only a CommonJS form, whose default export Node wraps.
  const decode = jsQR as unknown as { readonly default: typeof jsQR.default }
  const found = decode.default(pixels, width, pixels.length / 4 / width, { inversionAttempts: 'dontInvert' })
  return found ? { version: found.version, content: Buffer.from(found.binaryData).toString() } : undefined
}
