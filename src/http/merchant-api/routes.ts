import type { App } from '../app.js'
import type { HttpDependencies } from '../dependencies.js'
import { createFailures } from '../envelope.js'
import type { Gate } from '../plugins/gate.js'
import type { HttpMetrics } from '../plugins/metrics.js'
import {
  CreatedEnvelope,
  HostedDepositAnswer,
  HostedDepositRequest,
  NativeDepositRequest,
  WithdrawalRequest,
} from './create-schemas.js'
import { Creates } from './creates.js'

const consumes = ['application/json', 'application/json-patch+json']

/** The specification's three creates (Endpoints 1 to 3). */
export function registerMerchantApi(app: App, deps: HttpDependencies, gate: Gate, metrics: HttpMetrics): void {
  const creates = new Creates(deps, gate, metrics)
  const common = { tags: ['Merchant API'], consumes }

  app.route({
    method: 'POST',
    url: '/Transaction/CreateDeposit',
    onRequest: gate.acceptKey,
    attachValidation: true,
    schema: {
      ...common,
      operationId: 'createHostedDeposit',
      summary: 'Create a hosted deposit',
      description:
        'Redirect the customer to the `url` of the answer. Without a WebApiKey the merchant is the one whose allow-list holds your address and whose SecretKey makes the hashCode.',
      security: [{}, { WebApiKey: [] }],
      body: HostedDepositRequest,
      response: { 200: HostedDepositAnswer, ...createFailures },
    },
    handler: (request) => creates.hosted(request),
  })
  app.route({
    method: 'POST',
    url: '/api/services/app/TransactionRequests/CreateDeposit',
    onRequest: gate.requireKey,
    attachValidation: true,
    schema: {
      ...common,
      operationId: 'createNativeDeposit',
      summary: 'Create a native deposit',
      body: NativeDepositRequest,
      response: { 200: CreatedEnvelope, ...createFailures },
    },
    handler: (request) => creates.native(request),
  })
  app.route({
    method: 'POST',
    url: '/api/services/app/TransactionRequests/CreateWithdraw',
    onRequest: gate.requireKey,
    attachValidation: true,
    schema: {
      ...common,
      operationId: 'createWithdrawal',
      summary: 'Create a withdrawal',
      body: WithdrawalRequest,
      response: { 200: CreatedEnvelope, ...createFailures },
    },
    handler: (request) => creates.withdrawal(request),
  })
}
