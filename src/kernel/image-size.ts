interface ImageSize {
  readonly width: number
  readonly height: number
}

/** Returns the size in pixels that a PNG, JPEG or WebP file declares, or `undefined` for any other or a cut-off file. */
export function imageSize(bytes: Buffer): ImageSize | undefined {
  try {
    const size = pngSize(bytes) ?? webpSize(bytes) ?? jpegSize(bytes)
    return size && size.width > 0 && size.height > 0 ? size : undefined
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  }
}

function pngSize(bytes: Buffer): ImageSize | undefined {
  const isPng = bytes.toString('hex', 0, 8) === '89504e470d0a1a0a' && bytes.toString('latin1', 12, 16) === 'IHDR'
  return isPng ? { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) } : undefined
}

function webpSize(bytes: Buffer): ImageSize | undefined {
  if (bytes.toString('latin1', 0, 4) !== 'RIFF' || bytes.toString('latin1', 8, 12) !== 'WEBP') return undefined
  switch (bytes.toString('latin1', 12, 16)) {
    case 'VP8X':
      return { width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 }
    case 'VP8L': {
      const bits = bytes.readUInt32LE(21)
      return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 }
    }
    case 'VP8 ':
      return { width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff }
    default:
      return undefined
  }
}

/** Looks for the first frame header, after segments of metadata. */
function jpegSize(bytes: Buffer): ImageSize | undefined {
  if (bytes.toString('hex', 0, 2) !== 'ffd8') return undefined
  for (let at = 2; bytes.readUInt8(at) === 0xff; at += 2 + bytes.readUInt16BE(at + 2)) {
    const marker = bytes.readUInt8(at + 1)
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)
    if (isFrame) return { width: bytes.readUInt16BE(at + 7), height: bytes.readUInt16BE(at + 5) }
  }
  return undefined
}
