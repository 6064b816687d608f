import { Link } from '@tanstack/react-router'
import { ArrowLeftRight } from 'lucide-react'
import { useEffect, useEffectEvent, useRef } from 'react'
import { Flag } from '../components/Badge'
import { useSession } from './current-session'
import { MerchantSwitch } from './MerchantSwitch'
import { type Destination, groups, useDestinations } from './navigation'
import { useNavigationCounts } from './navigation-counts'
import { useText } from './texts'
import { UserMenu } from './UserMenu'
import './SideBar.css'

interface SideBarProps {
  /** On a phone, the side bar is shown only while it is open. */
  readonly isOpen: boolean
  readonly close: () => void
}

export function SideBar({ isOpen, close }: SideBarProps) {
  const text = useText()
  const { sandbox } = useSession()
  const destinations = useDestinations()
  const ref = useRef<HTMLElement>(null)
  const onClose = useEffectEvent(close)
  useEffect(() => {
    if (!isOpen) return
    ref.current?.querySelector<HTMLElement>('a')?.focus()
    const onKeyDown = ({ key }: KeyboardEvent) => key === 'Escape' && onClose()
    document.addEventListener('keydown', onKeyDown)
    return () => document.removeEventListener('keydown', onKeyDown)
  }, [isOpen])
  const inGroup = (name: Destination['group']) => destinations.filter(({ group }) => group === name)
  return (
    <aside id="navigation" aria-label={text('shell.product')} className={isOpen ? 'SideBar SideBar-open' : 'SideBar'}>
      <div className="SideBar-brand">
        <ArrowLeftRight className="SideBar-logo" />
        <span className="SideBar-label">{text('shell.product')}</span>
        {sandbox && <Flag title={text('shell.sandboxHelp')}>{text('merchants.sandbox')}</Flag>}
      </div>
      <MerchantSwitch />
      <nav ref={ref} className="SideBar-nav" aria-label={text('shell.navigation')}>
        <ul>
          {inGroup('start').map((destination) => (
            <Item key={destination.to} destination={destination} />
          ))}
        </ul>
        {groups.map((group) => {
          const items = inGroup(group)
          if (items.length === 0) return null
          return (
            <section key={group} aria-labelledby={`navigation-${group}`}>
              <p id={`navigation-${group}`} className="SideBar-group">
                {text(`shell.group.${group}`)}
              </p>
              <ul>
                {items.map((destination) => (
                  <Item key={destination.to} destination={destination} />
                ))}
              </ul>
            </section>
          )
        })}
      </nav>
      <div className="SideBar-foot">
        <UserMenu />
      </div>
    </aside>
  )
}

function Item({ destination: { to, label, icon: Icon } }: { readonly destination: Destination }) {
  const text = useText()
  const count = useNavigationCounts()[to]
  return (
    <li>
      <Link
        to={to}
        activeOptions={{ exact: to === '/', includeSearch: false }}
        className="SideBar-item"
        title={text(label)}
      >
        <Icon />
        <span className="SideBar-label">{text(label)}</span>
        {count !== undefined && count.count > 0 && (
          <span className={`SideBar-count SideBar-count-${count.tone}`}>
            {text('common.count', { count: count.count })}
          </span>
        )}
      </Link>
    </li>
  )
}
