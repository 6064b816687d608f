import t from 'tap'
import { imageSize } from '../../src/kernel/image-size.js'

const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex')
const images = {
  png: [hex('89504e470d0a1a0a 0000000d 49484452 00000003 00000002 08'), { width: 3, height: 2 }],
  jpeg: [hex('ffd8 ffe0 0004 0000 ffc2 0011 08 0002 0003'), { width: 3, height: 2 }],
  'lossy WebP': [hex('52494646 00000000 57454250 56503820 00000000 000000 9d012a 0300 0200'), { width: 3, height: 2 }],
  'lossless WebP': [hex('52494646 00000000 57454250 5650384c 00000000 2f 02400000'), { width: 3, height: 2 }],
  'extended WebP': [
    hex('52494646 00000000 57454250 56503858 0a000000 00000000 020000 010000'),
    { width: 3, height: 2 },
  ],
} as const

t.test('reads the dimensions of an image, and of no part of one', async (t) => {
  for (const [name, [bytes, size]] of Object.entries(images)) {
    t.same(imageSize(bytes), size, name)
    for (let end = 0; end < bytes.length - 1; end++)
      t.equal(imageSize(bytes.subarray(0, end)), undefined, `${name} ${end}`)
  }
  for (const other of ['', 'GIF89a', '<svg/>', '%PDF-1.7']) t.equal(imageSize(Buffer.from(other)), undefined)
})
