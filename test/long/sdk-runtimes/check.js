// Runs in every runtime that the TypeScript client supports, so it uses only their common functions.
import * as sdk from './client.js'

/** Returns the results of the vectors, and those of requests to a service. */
export async function check(vectors, { baseUrl, webApiKey, secretKey, referenceId }) {
  const results = []
  for (const { body, headers, nowSeconds, webhookSecrets, secretKeys, handled = [] } of vectors.callbacks) {
    const secrets = {
      webhookSecret: webhookSecrets ?? vectors.webhookSecret,
      secretKey: secretKeys ?? vectors.secretKey,
    }
    const options = { ...secrets, nowSeconds, isHandled: (id) => handled.includes(id) }
    const result = await sdk.verifyCallback(body, new Headers(headers), options).then(
      ({ isRepeated }) => (isRepeated ? 'repeated' : 'accepted'),
      (error) => error.reason ?? String(error),
    )
    results.push(result)
  }
  const signatures = vectors.signatures.map(({ body, ...options }) => sdk.signRequest(vectors.secretKey, body, options))
  const client = new sdk.TransferdClient({ baseUrl, webApiKey, secretKey })
  const customer = { userId: '1', name: 'Ada', username: 'ada', paymentMethod: 1 }
  const { amount, trackingId } = await client.createHostedDeposit({ ...customer, amount: '100.5', referenceId })
  const refused = await client.getTransfer('x').catch((error) => error.code)
  const { status } = await client.getTransfer(trackingId)
  return { results, signatures: await Promise.all(signatures), amount, refused, status }
}
