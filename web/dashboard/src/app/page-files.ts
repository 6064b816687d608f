/** The code of each page. It is requested before the router is loaded, so the address must name it without the routes. */
export const pageFiles = {
  '/': () => import('../pages/overview/OverviewPage'),
  '/deposits': () => import('../pages/transfers/TransfersPage'),
  '/withdrawals': () => import('../pages/transfers/TransfersPage'),
  '/transfers/*': () => import('../pages/transfer/TransferPage'),
  '/pay': () => import('../pages/payouts/PayoutsPage'),
  '/bank-statements': () => import('../pages/bank/BankStatementsPage'),
  '/reconciliation': () => import('../pages/bank/ReconciliationPage'),
  '/callbacks': () => import('../pages/callbacks/CallbacksPage'),
  '/merchants': () => import('../pages/merchants/MerchantsPage'),
  '/merchants/*': () => import('../pages/merchants/MerchantPage'),
  '/users': () => import('../pages/users/UsersPage'),
  '/users/*': () => import('../pages/users/UserPage'),
  '/statement': () => import('../pages/statement/StatementPage'),
  '/operations': () => import('../pages/operations/OperationsPage'),
  '/audit': () => import('../pages/audit/AuditPage'),
  '/privacy': () => import('../pages/privacy/PrivacyPage'),
  '/account': () => import('../pages/account/AccountPage'),
  '/__components': () => import('../pages/gallery/GalleryPage'),
} as const

/** Returns the name of the page at an address below the dashboard's path. `*` stands for an identifier. */
export function pageAt(path: string): string {
  const [, area = '', id] = path.split('/')
  return id ? `/${area}/*` : `/${area}`
}
