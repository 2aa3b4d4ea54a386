// The short names people and bots use most; any other stays the words it is.
const NAMES = `
zombie 🧟 robot_face 🤖 skull 💀 ghost 👻 bug 🐛 white_check_mark ✅ heavy_check_mark ✔️ ballot_box_with_check ☑️ x ❌
heavy_multiplication_x ✖️ warning ⚠️ no_entry ⛔ no_entry_sign 🚫 octagonal_sign 🛑 stop_sign 🛑 construction 🚧
rotating_light 🚨 sos 🆘 fire 🔥 boom 💥 zap ⚡ question ❓ grey_question ❔ exclamation ❗ grey_exclamation ❕
information_source ℹ️ red_circle 🔴 large_orange_circle 🟠 large_yellow_circle 🟡 large_green_circle 🟢
large_blue_circle 🔵 large_purple_circle 🟣 white_circle ⚪ black_circle ⚫ large_red_square 🟥 large_green_square 🟩
hourglass ⌛ hourglass_flowing_sand ⏳ stopwatch ⏱️ timer_clock ⏲️ alarm_clock ⏰ clock1 🕐 clock3 🕒 calendar 📆 date 📅
eyes 👀 mag 🔍 mag_right 🔎 microscope 🔬 stethoscope 🩺 pill 💊 thermometer 🌡️ hospital 🏥 ambulance 🚑 bandage 🩹
adhesive_bandage 🩹 test_tube 🧪 dna 🧬 wrench 🔧 hammer 🔨 hammer_and_wrench 🛠️ gear ⚙️ nut_and_bolt 🔩 toolbox 🧰
computer 💻 desktop_computer 🖥️ keyboard ⌨️ floppy_disk 💾 cd 💿 package 📦 electric_plug 🔌 battery 🔋 satellite 🛰️
cloud ☁️ snowflake ❄️ chart_with_upwards_trend 📈 chart_with_downwards_trend 📉 bar_chart 📊 memo 📝 pencil 📝
pencil2 ✏️ clipboard 📋 page_facing_up 📄 page_with_curl 📃 file_folder 📁 open_file_folder 📂 card_index 📇 pushpin 📌
round_pushpin 📍 paperclip 📎 link 🔗 lock 🔒 unlock 🔓 key 🔑 closed_lock_with_key 🔐 shield 🛡️ bell 🔔 no_bell 🔕
mega 📣 loudspeaker 📢 speech_balloon 💬 thought_balloon 💭 thread 🧵 inbox_tray 📥 outbox_tray 📤 email 📧
wastebasket 🗑️ recycle ♻️ repeat 🔁 arrows_counterclockwise 🔄 leftwards_arrow_with_hook ↩️ rewind ⏪
fast_forward ⏩ arrow_forward ▶️ double_vertical_bar ⏸️ black_square_for_stop ⏹️ arrow_up ⬆️ arrow_down ⬇️ arrow_left ⬅️
arrow_right ➡️ arrow_upper_right ↗️ arrow_lower_right ↘️ small_red_triangle 🔺 small_red_triangle_down 🔻 bulb 💡
rocket 🚀 tada 🎉 sparkles ✨ star ⭐ trophy 🏆 100 💯 heart ❤️ green_heart 💚 broken_heart 💔 bust_in_silhouette 👤
busts_in_silhouette 👥 cop 👮 technologist 🧑‍💻 construction_worker 👷 +1 👍 thumbsup 👍 -1 👎 thumbsdown 👎 wave 👋
raised_hand ✋ ok_hand 👌 clap 👏 raised_hands 🙌 pray 🙏 muscle 💪 point_right 👉 point_up ☝️ smile 😄 slightly_smiling_face 🙂
grin 😁 joy 😂 sweat_smile 😅 wink 😉 thinking_face 🤔 neutral_face 😐 confused 😕 cry 😢 sob 😭 scream 😱 dizzy_face 😵
face_with_monocle 🧐 nerd_face 🤓 sunglasses 😎 sleeping 😴 zzz 💤 hot_face 🥵 cold_face 🥶 exploding_head 🤯
coffee ☕ beer 🍺 pizza 🍕 hamster 🐹 snail 🐌 turtle 🐢 earth_africa 🌍 sunny ☀️ moon 🌙 rainbow 🌈 checkered_flag 🏁
small_blue_diamond 🔹 small_orange_diamond 🔸 white_small_square ▫️ black_small_square ▪️ heavy_plus_sign ➕ heavy_minus_sign ➖
diamond_shape_with_a_dot_inside 💠 crystal_ball 🔮 crossed_fingers 🤞 ok 🆗 new 🆕 up 🆙 free 🆓 one 1️⃣ two 2️⃣ three 3️⃣ four 4️⃣ five 5️⃣
`;

const words = NAMES.trim().split(/\s+/);
const TABLE = new Map();
for (let at = 0; at < words.length; at += 2) TABLE.set(words[at], words[at + 1]);

export const emoji = (name) => TABLE.get(name);

export function emojiInText(text) {
  return text.replace(/:([\w+-]+):/g, (whole, name) => emoji(name) ?? whole);
}
