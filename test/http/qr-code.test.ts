import t from 'tap'
import { epcCode } from '../../src/domain/epc-code.js'
import { qrCode } from '../../src/http/payment-page/qr-code.js'
import { readDrawing } from '../support/qr-reader.js'

const iban = 'MT84MALT011000012345MTLCAST001S'

t.test('draws a code that another library reads: the shortest, umlauts, and the longest', async (t) => {
  const contents = [
    epcCode({ name: 'A', iban: 'DE89370400440532013000' }, 1n, '1')!,
    epcCode({ name: 'Müller & Söhne, Çiçek Şti. 東京', iban }, 99_50n, 'order-17')!,
    epcCode({ name: 'ü'.repeat(70), iban, bic: 'COBADEFFXXX' }, 999_999_999_99n, 'a'.repeat(114))!,
    // The capacity of version 13 with error correction M.
    'a'.repeat(331),
  ]
  t.equal(Buffer.byteLength(contents[2]!), 331)
  const versions = contents.map((content) => {
    const read = readDrawing(qrCode(content, 'Code').text)
    t.equal(read?.content, content)
    return read?.version
  })
  t.same(versions.slice(2), [13, 13])
})

t.test('has a white border of four modules, a name, and no inline style', async (t) => {
  const { text } = qrCode('a', 'Name & <label>')
  t.match(text, '<svg viewBox="0 0 29 29" role="img" aria-label="Name &#38; &#60;label&#62;"')
  t.match(text, '<path fill="#fff" d="M0 0h29v29H0z"/>')
  t.match(text, /<path d="M4 4h7v1H4z/, 'the first finder pattern follows the border')
  t.notMatch(text, 'style=')
})

t.test('draws nothing that EPC069-12 does not allow', async (t) => {
  t.throws(() => qrCode('a'.repeat(332), 'Code'))
})
