import { createRouter } from '@tanstack/react-router'
import { accountRoute } from '../pages/account/route'
import { auditRoute } from '../pages/audit/route'
import { callbacksRoute } from '../pages/callbacks/route'
import { merchantRoute, merchantsRoute } from '../pages/merchants/route'
import { operationsRoute } from '../pages/operations/route'
import { overviewRoute } from '../pages/overview/route'
import { payingRoute } from '../pages/paying/route'
import { peopleRoute, personRoute } from '../pages/people/route'
import { privacyRoute } from '../pages/privacy/route'
import { statementRoute } from '../pages/statement/route'
import { transferRoute } from '../pages/transfer/route'
import { depositsRoute, withdrawalsRoute } from '../pages/transfers/route'
import { basePath } from './base-path'
import { pagesRoute, rootRoute } from './root'
import { parseSearch, stringifySearch } from './search'

const routeTree = rootRoute.addChildren([
  pagesRoute.addChildren([
    overviewRoute,
    depositsRoute,
    withdrawalsRoute,
    transferRoute,
    payingRoute,
    callbacksRoute,
    merchantsRoute,
    merchantRoute,
    peopleRoute,
    personRoute,
    statementRoute,
    operationsRoute,
    auditRoute,
    privacyRoute,
    accountRoute,
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
