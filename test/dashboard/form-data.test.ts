import t from 'tap'
import { pageModule } from './page-module.js'

const { inputOf } = await pageModule<{ inputOf(field: string, inputs: readonly string[]): string | undefined }>(
  'components/form-data.ts',
)

t.test('an error is shown at the input of its field, or of the list or object that contains it', async (t) => {
  const inputs = ['allowIps', 'debtor.name', 'debtor.address', 'repeat.reason']
  const cases: [string, string | undefined][] = [
    ['allowIps', 'allowIps'],
    ['allowIps[3]', 'allowIps'],
    ['debtor.name', 'debtor.name'],
    ['debtor.address.town', 'debtor.address'],
    ['debtor.address["a.b"][0]', 'debtor.address'],
    ['debtor.iban', undefined],
    ['debtor', undefined],
    ['allowIps2', undefined],
    ['', undefined],
  ]
  for (const [field, input] of cases) t.equal(inputOf(field, inputs), input, field)
})
