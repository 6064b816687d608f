import { useRouter } from '@tanstack/react-router'
import {
  Activity,
  ArrowDownToLine,
  ArrowUpFromLine,
  Banknote,
  EyeOff,
  FingerprintPattern,
  Landmark,
  LayoutDashboard,
  ReceiptText,
  Scale,
  Store,
  UserRound,
  Users,
  Webhook,
} from 'lucide-react'
import { useSession } from './current-session'

export const groups = ['money', 'merchants', 'system'] as const

/** The pages in the command palette and, if they have a group, in the navigation, in this order. */
const destinations = [
  { to: '/', label: 'overview.title', icon: LayoutDashboard, group: 'start' },
  { to: '/deposits', label: 'transfers.deposits', icon: ArrowDownToLine, group: 'money' },
  { to: '/withdrawals', label: 'transfers.withdrawals', icon: ArrowUpFromLine, group: 'money' },
  { to: '/pay', label: 'payouts.title', icon: Banknote, group: 'money' },
  { to: '/bank-statements', label: 'bank.title', icon: Landmark, group: 'money' },
  { to: '/reconciliation', label: 'bank.reconciliation', icon: Scale, group: 'money' },
  { to: '/statement', label: 'statement.title', icon: ReceiptText, group: 'money' },
  { to: '/merchants', label: 'merchants.title', icon: Store, group: 'merchants' },
  { to: '/callbacks', label: 'callbacks.title', icon: Webhook, group: 'merchants' },
  { to: '/operations', label: 'operations.title', icon: Activity, group: 'system' },
  { to: '/audit', label: 'audit.title', icon: FingerprintPattern, group: 'system' },
  { to: '/users', label: 'users.title', icon: Users, group: 'system' },
  { to: '/privacy', label: 'privacy.title', icon: EyeOff, group: 'system' },
  { to: '/account', label: 'account.title', icon: UserRound, group: undefined },
] as const

export type Destination = (typeof destinations)[number]

/** Returns the pages that the user has access to. */
export function useDestinations(): readonly Destination[] {
  const { routesByPath } = useRouter()
  const { permissions } = useSession()
  return destinations.filter(({ to }) => {
    const { needs } = routesByPath[to].options.staticData
    return needs === null || permissions.includes(needs)
  })
}

/** Returns the destination of a path: the page itself, or the list that a page of details belongs to. */
export function destinationOf(path: string): Destination | undefined {
  return destinations.find(({ to }) => (to === '/' ? path === '/' : path === to || path.startsWith(`${to}/`)))
}
