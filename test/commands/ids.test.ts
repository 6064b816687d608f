import t from 'tap'
import * as ids from '../../src/commands/ids.js'
import { isServiceStream } from '../../src/domain/streams.js'

t.test('every stream that the service writes is one that nobody else may write', async (t) => {
  const made: { readonly [name: string]: string } = {
    transferStream: ids.transferStream('a'),
    paymentStream: ids.paymentStream('a'),
    walletCodesStream: ids.walletCodesStream(1),
    walletLogInsStream: ids.walletLogInsStream('a'),
    callbackStream: ids.callbackStream('a'),
    endpointStream: ids.endpointStream('a'),
    merchantStream: ids.merchantStream('a'),
    hashCodeStream: ids.hashCodeStream('6f6a5c0e-52a1-4f0e-9d2b-0f0f5d3c1a11', 'A'),
    hashedTextStream: ids.hashedTextStream('6f6a5c0e-52a1-4f0e-9d2b-0f0f5d3c1a11', 'A'),
    walletAccountStream: ids.walletAccountStream(1),
    walletEmailStream: ids.walletEmailStream('a'),
  }
  const all = Object.keys(ids).filter((name) => name.endsWith('Stream'))
  t.same(Object.keys(made).sort(), all.sort(), 'these are all')
  for (const stream of Object.values(made)) t.ok(isServiceStream(stream), stream)
})
