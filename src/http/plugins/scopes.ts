import type { Scope } from '../../domain/merchant/api-key.js'

/** What a WebApiKey must be for, by route: every route that takes one is here. */
export const routeScopes: { readonly [url: string]: Scope | undefined } = {
  '/Transaction/CreateDeposit': 'deposits',
  '/api/services/app/TransactionRequests/CreateDeposit': 'deposits',
  '/api/services/app/TransactionRequests/CreateWithdraw': 'withdrawals',
  '/api/services/app/TransactionRequests/WalletCustomerLogin': 'deposits',
  '/api/services/app/TransactionRequests/Wallet2Fa': 'deposits',
  '/api/services/app/TransactionRequests/WalletValidateUserDevice': 'deposits',
  '/v1/transfers/:trackingId': 'read',
  '/v1/transfers': 'read',
  '/v1/transfers/:trackingId/events': 'read',
  '/v1/events': 'read',
  '/v1/transfers/:trackingId/callbacks': 'read',
  // It says to the merchant's own URL what was said before, and changes no transfer.
  '/v1/transfers/:trackingId/callbacks/resend': 'read',
}
