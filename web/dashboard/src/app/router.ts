import { createRouter } from '@tanstack/react-router'
import { accountRoute } from '../pages/account/account-route'
import { auditRoute } from '../pages/audit/audit-route'
import { bankStatementsRoute } from '../pages/bank/bank-statements-route'
import { reconciliationRoute } from '../pages/bank/reconciliation-route'
import { callbacksRoute } from '../pages/callbacks/callbacks-route'
import { galleryRoute } from '../pages/gallery/gallery-route'
import { merchantRoute, merchantsRoute } from '../pages/merchants/merchants-route'
import { operationsRoute } from '../pages/operations/operations-route'
import { overviewRoute } from '../pages/overview/overview-route'
import { payoutsRoute } from '../pages/payouts/payouts-route'
import { privacyRoute } from '../pages/privacy/privacy-route'
import { statementRoute } from '../pages/statement/statement-route'
import { transferRoute } from '../pages/transfer/transfer-route'
import { depositsRoute, withdrawalsRoute } from '../pages/transfers/transfers-route'
import { userRoute, usersRoute } from '../pages/users/users-route'
import { basePath } from './base-path'
import { pagesRoute, rootRoute } from './root'
import { parseSearch, stringifySearch } from './search-params'

const routeTree = rootRoute.addChildren([
  pagesRoute.addChildren([
    overviewRoute,
    depositsRoute,
    withdrawalsRoute,
    transferRoute,
    payoutsRoute,
    bankStatementsRoute,
    reconciliationRoute,
    callbacksRoute,
    merchantsRoute,
    merchantRoute,
    usersRoute,
    userRoute,
    statementRoute,
    operationsRoute,
    auditRoute,
    privacyRoute,
    accountRoute,
    galleryRoute,
  ]),
])

export const router = createRouter({
  routeTree,
  basepath: basePath,
  parseSearch,
  stringifySearch,
  scrollRestoration: true,
})

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
}
