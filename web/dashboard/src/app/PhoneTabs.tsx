import { Link } from '@tanstack/react-router'
import { Menu } from 'lucide-react'
import { Button } from '../components/Button'
import { useDestinations } from './navigation'
import { useNavigationCounts } from './navigation-counts'
import { useText } from './texts'
import './PhoneTabs.css'

/** The destinations that have a tab, in this order, with labels that fit. The others are in the menu. */
const tabs = [
  { tab: '/', words: 'overview.title' },
  { tab: '/deposits', words: 'shell.tab.deposits' },
  { tab: '/withdrawals', words: 'shell.tab.withdrawals' },
  { tab: '/pay', words: 'shell.tab.pay' },
] as const

interface PhoneTabsProps {
  readonly isOpen: boolean
  readonly onToggle: () => void
}

/** The navigation on a phone: a bar at the bottom, whose last tab opens the side bar. */
export function PhoneTabs({ isOpen, onToggle }: PhoneTabsProps) {
  const text = useText()
  const counts = useNavigationCounts()
  const destinations = useDestinations()
  const shown = tabs.flatMap(({ tab, words }) => {
    const found = destinations.find(({ to }) => to === tab)
    return found ? { ...found, words } : []
  })
  return (
    <nav className="PhoneTabs" aria-label={text('shell.navigation')}>
      {shown.map(({ to, words, icon: Icon }) => (
        <Link key={to} to={to} activeOptions={{ exact: to === '/', includeSearch: false }} className="PhoneTabs-tab">
          <Icon />
          <span className="cut">{text(words)}</span>
          {(counts[to]?.count ?? 0) > 0 && (
            <span className="Count">{text('common.count', { count: counts[to]?.count })}</span>
          )}
        </Link>
      ))}
      <Button
        look="quiet"
        className="PhoneTabs-tab"
        aria-expanded={isOpen}
        aria-controls="navigation"
        onPress={onToggle}
      >
        <Menu />
        <span className="cut">{text('shell.tab.more')}</span>
      </Button>
    </nav>
  )
}
