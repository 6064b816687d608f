import t from 'tap'
import { camt053, fixture, mt940, ntry, problemOf, recordsOf, withDetails } from './bank-files.js'

const named = (name: string) => withDetails(`<RltdPties><Dbtr><Nm>${name}</Nm></Dbtr></RltdPties>`)
const nameIn = async (file: Buffer) => {
  const [, entry] = await recordsOf(file)
  return entry?.type === 'entry' && entry.payments[0]!.name
}

t.test('reads XML in the encoding that it states', async (t) => {
  const file = (encoding: string, name: string) => `<?xml version='1.0' encoding='${encoding}'?>${camt053(named(name))}`
  t.equal(await nameIn(Buffer.from(file('UTF-8', 'Şule €'))), 'Şule €')
  t.equal(await nameIn(Buffer.from(`\ufeff${file('utf-8', 'Şule')}`)), 'Şule', 'a byte order mark')
  t.equal(await nameIn(Buffer.from(camt053(named('Şule')))), 'Şule', 'no declaration')
  t.equal(await nameIn(Buffer.from(file('ISO-8859-1', 'Jürgen'), 'latin1')), 'Jürgen')
  t.equal(await nameIn(Buffer.from(file('ISO-8859-15', '\u00a4'), 'latin1')), '€')
  t.equal(await nameIn(Buffer.from(file('windows-1252', '\u0080'), 'latin1')), '€')
  t.equal(await nameIn(Buffer.from(`\ufeff${file('UTF-16', 'Şule')}`, 'utf16le')), 'Şule')
  t.equal(await nameIn(Buffer.from(file('UTF-16', 'Şule'), 'utf16le').swap16()), 'Şule')
  t.same(await problemOf(file('EBCDIC-CP-BE', 'x')), ['bank-file-encoding', { encoding: 'EBCDIC-CP-BE' }])
  const wrong = Buffer.from(file('UTF-8', 'Jürgen'), 'latin1')
  t.same(await problemOf(wrong), ['bank-file-encoding', { encoding: 'utf-8' }])
  t.match(await problemOf(fixture('german-camt053-v02.xml').subarray(0, 1_500)), [
    'bank-file-damaged',
    { place: /^28:\d+$/ },
  ])
})

t.test('reads lines in UTF-8 or in ISO-8859-1', async (t) => {
  const file = mt940(':61:260302C1,NTRFNONREF', ':86:166?32Jürgen Şahin')
  t.equal(await nameIn(Buffer.from(file)), 'Jürgen Şahin')
  t.equal(await nameIn(Buffer.from(file.replace('Şahin', 'Grün'), 'latin1')), 'Jürgen Grün')
  t.equal(await nameIn(Buffer.from(`\ufeff${file}`)), 'Jürgen Şahin')
  t.equal(await nameIn(Buffer.from(`\ufeff${file}`, 'utf16le')), 'Jürgen Şahin')
})

t.test('rejects what it does not know, and tells how to continue with an archive', async (t) => {
  for (const file of ['', ' \r\n', 'Hello', '<html><body/></html>', '%PDF-1.7', '\u0000', 'a;b\n1;2\n'])
    t.match(await problemOf(file), [/^bank-file-(unrecognised|damaged)$/, {}], JSON.stringify(file))
  t.same(await problemOf('PK\u0003\u0004rest'), ['bank-file-zipped', {}])
  const initiation = '<Document><CstmrCdtTrfInitn><GrpHdr/></CstmrCdtTrfInitn></Document>'
  t.same(await problemOf(initiation), ['bank-file-unrecognised', {}], 'a file for the bank')
})

t.test('rejects entities and a DOCTYPE', async (t) => {
  const doctype = '<!DOCTYPE Document [<!ENTITY x SYSTEM "file:///etc/passwd">]>'
  t.match(await problemOf(`<?xml version="1.0"?>\n${doctype}${camt053(named('&x;'))}`), [
    'bank-file-doctype',
    { place: /^2:/ },
  ])
  t.match(await problemOf(camt053(named('&x;'))), ['bank-file-damaged', { place: /^2:/ }])
  t.equal(await nameIn(Buffer.from(camt053(named('&lt;&gt;&amp;&quot;&apos;&#65;')))), `<>&"'A`)
})

t.test('rejects XML that is not well-formed', async (t) => {
  const file = camt053(ntry())
  for (const [from, to] of [
    ['</Ntry>', ''],
    ['</Ntry>', '</Ntri>'],
    ['Ccy="EUR"', 'Ccy=EUR'],
    ['</Document>', ''],
    ['</Document>', '</Document>x'],
    ['10.00', '\u0001'],
  ] as const)
    t.match(await problemOf(file.replace(from, to)), ['bank-file-damaged', { place: /^\d+:\d+$/ }], to)
})

t.test('limits depth, texts and lines', async (t) => {
  const deep = (depth: number) => camt053(`${'<a>'.repeat(depth)}${'</a>'.repeat(depth)}`)
  t.equal(await problemOf(deep(37)), undefined)
  t.match(await problemOf(deep(38)), ['bank-file-too-deep', { most: 40 }])
  t.equal(await problemOf(camt053(named('x'.repeat(19_000)))), undefined)
  const most = 20_000
  t.match(await problemOf(camt053(named('x'.repeat(most)))), ['bank-text-too-long', { most }])
  t.match(await problemOf(camt053(named('<b/>'.repeat(9).replaceAll('<b/>', `${'x'.repeat(3_000)}<b/>`)))), [
    'bank-text-too-long',
    { most },
  ])
  t.match(await problemOf(camt053(`<!--${'x'.repeat(most)}-->`)), ['bank-text-too-long', { most }])
  t.match(await problemOf(`<Document a="${'x'.repeat(90_000)}`), ['bank-text-too-long', { most }])
  t.match(await problemOf(camt053(`<Ntry>${'<a/>'.repeat(200_000)}</Ntry>`)), ['bank-entry-too-large', {}])
  t.match(await problemOf(mt940(`:86:${'x'.repeat(70_000)}`)), ['bank-text-too-long', { place: '5' }])
  t.match(await problemOf(mt940(...Array(200).fill('x'))), ['bank-text-too-long', { most: 100 }])
})

t.test('a problem names no person', async (t) => {
  const secret = 'Ada-Muster'
  const broken = [
    camt053(named(`${secret}</Nm>`)),
    mt940(`:61:${secret}`),
    camt053(ntry({ Sts: `<Sts>${secret}</Sts>` })),
  ]
  for (const file of broken) t.notMatch(JSON.stringify(await problemOf(file)), secret)
})

t.test('a line of slashes or of code words takes no longer than others', async (t) => {
  const startMs = performance.now()
  for (const text of ['/', 'EREF+ ', '/REMI/', '?20', '0'])
    await problemOf(
      mt940(
        ':61:260302C1,NTRFNONREF',
        `:86:166?20${text.repeat(60_000 / text.length)}x`,
        ...Array(90).fill(`${text.repeat(60_000 / text.length)}x`),
      ),
    )
  t.ok(performance.now() - startMs < 30_000)
})
